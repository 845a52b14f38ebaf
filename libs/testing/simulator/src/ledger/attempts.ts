/**
 * Rules about the requests that endpoints receive: every entry is durable before it is sent, a replay is the journal, results never
 * change, and no two attempts that both count work on one object at the same time.
 */
import { bytesEqual, type InvocationId, ProtoReader, parseInvocationId, toBinaryString } from "@perdure/base";
import type { StreamRequest } from "@perdure/endpoint-transport";
import { messageTypeName, type StartMessage } from "@perdure/service-protocol";
import { isExclusive } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { GenerationRecord } from "./generation-record.js";
import type { Ledger } from "./ledger.js";
import { AttemptMessages } from "./run-model.js";

/** One stream, from the leader that opened it until that leader releases it. */
export interface AttemptRecord {
  readonly name: string;
  readonly id: InvocationId;
  readonly leader: AttemptLeader;
  /** The generation that it was opened for; undefined when none was durable, which is reported. */
  readonly generation: GenerationRecord | undefined;
  /** The leader aborted the stream. */
  aborted: boolean;
  /** The leader has received the end of the response. */
  responseOver: boolean;
  /** The run that was durable then; undefined: none. */
  readonly run: number | undefined;
  readonly messages: AttemptMessages;
  readonly stateAtOpening: ReadonlyMap<string, Uint8Array> | undefined;
}

export interface AttemptLeader {
  readonly name: string;
  readonly alive: boolean;
  leads(id: InvocationId): boolean;
}

export class AttemptLedger {
  readonly #findings: SimulationFindings;
  readonly #ledger: Ledger;
  readonly #open = new Set<AttemptRecord>();
  #count = 0;

  constructor(findings: SimulationFindings, ledger: Ledger) {
    this.#findings = findings;
    this.#ledger = ledger;
  }

  get count(): number {
    return this.#count;
  }

  opened(leader: AttemptLeader, request: StreamRequest): AttemptRecord {
    const parsed = parseInvocationId(request.headers["x-restate-invocation-id"] ?? "");
    const id = (parsed.ok ? parsed.value : "") as InvocationId;
    const generation = this.#ledger.generation(id);
    const target = generation?.facts.target;
    const record: AttemptRecord = {
      name: `${id}#${++this.#count}`,
      id,
      leader,
      generation,
      aborted: false,
      responseOver: false,
      run: generation?.invocation.status === "invoked" ? generation.invocation.run : undefined,
      messages: new AttemptMessages(),
      stateAtOpening: target?.key === undefined ? undefined : this.#ledger.state.of(target.service, target.key),
    };
    this.#ledger.runs.opened(record);
    if (leader.leads(id)) {
      // A leader that has not read the answer to its commit yet may begin an attempt of an invocation that the commit deleted.
      const last = this.#ledger.latestGeneration(id);
      if (last !== undefined) this.#ledger.kills.attempted(last, record.name);
      this.#findings.require(last !== undefined, "user code starts only after its invocation is durable", () => record.name);
      if (generation?.invocation.status === "invoked" || generation === undefined) this.#checkAlone(record);
    }
    this.#open.add(record);
    return record;
  }

  /** Checks that at most one of the attempts that still count works on an exclusive key, and at most one for an invocation. */
  #checkAlone(record: AttemptRecord): void {
    const target = record.generation?.facts.target;
    for (const other of this.#open) {
      if (!this.#counts(other)) {
        this.#open.delete(other);
        continue;
      }
      this.#findings.require(
        other.id !== record.id,
        "an invocation has one attempt at a time",
        () => `${other.name} and ${record.name}`,
      );
      const theirs = other.generation?.facts.target;
      if (target === undefined || theirs === undefined || !isExclusive(target) || !isExclusive(theirs)) continue;
      const apart = target.service !== theirs.service || target.key !== theirs.key;
      this.#findings.require(
        apart,
        "an object runs one exclusive handler at a time",
        () => `${other.name} and ${record.name} on ${target.key}`,
      );
    }
  }

  /** Whether the attempt belongs to the present leader and run, so that its frames still count. */
  #counts(record: AttemptRecord): boolean {
    return !record.aborted && !record.responseOver && record.leader.alive && record.leader.leads(record.id);
  }

  aborted(record: AttemptRecord): void {
    record.aborted = true;
    this.#open.delete(record);
  }

  responseOver(record: AttemptRecord): void {
    record.responseOver = true;
    this.#open.delete(record);
  }

  // ── what the endpoint receives ──────────────────────────────────────────────────────────────────

  started(record: AttemptRecord, start: StartMessage): void {
    this.#findings.require(start.debugId === record.id, "Start names the invocation of the request", () => record.name);
    const { generation } = record;
    if (generation === undefined || !this.#counts(record)) return;
    const seed = this.#ledger.seedOf(generation, start.randomSeed);
    this.#findings.require(seed === start.randomSeed, "the random seed never changes", () => record.name);
    this.#checkState(record, start);
  }

  /** Checks that an exclusive handler gets its object's state as its predecessors left it. */
  #checkState(record: AttemptRecord, start: StartMessage): void {
    const target = record.generation?.facts.target;
    if (target === undefined || !isExclusive(target) || record.stateAtOpening === undefined) return;
    const sent = new Map(start.state.map(({ key, value }) => [toBinaryString(key), value]));
    for (const [key, value] of sent) {
      const stored = record.stateAtOpening.get(key);
      const same = stored !== undefined && bytesEqual(stored, value);
      this.#findings.require(same, "an exclusive handler starts from the state that is stored", () => `${record.name}: ${key}`);
    }
    const whole = start.partialState || sent.size === record.stateAtOpening.size;
    this.#findings.require(whole, "state that is sent as complete is complete", () => record.name);
  }

  replayed(record: AttemptRecord, index: number, type: number, body: Uint8Array): void {
    const { generation } = record;
    if (generation === undefined || generation.journalDropped || !this.#counts(record)) return;
    const stored = generation.entries[index];
    const same = stored !== undefined && stored.type === type && bytesEqual(stored.body, body);
    this.#findings.require(
      same,
      "a replay is the durable journal",
      () => `${record.name}: entry ${index}, ${messageTypeName(type)}`,
    );
  }

  /** A notification pushed to a running handler, or an ack that stands for one. */
  pushed(record: AttemptRecord, type: number, body: Uint8Array): void {
    const { generation } = record;
    if (generation === undefined || generation.journalDropped || !this.#counts(record)) return;
    const durable = generation.entries.some((entry) => entry.type === type && bytesEqual(entry.body, body));
    this.#findings.require(durable, "a handler receives only durable entries", () => `${record.name}: ${messageTypeName(type)}`);
  }

  acknowledged(record: AttemptRecord, body: Uint8Array): void {
    const { generation } = record;
    if (generation === undefined || generation.journalDropped || !this.#counts(record)) return;
    const reader = new ProtoReader(body);
    let index = 0;
    while (reader.hasMore()) if (reader.tag() === 8) index = reader.uint32();
    const durable = index < generation.invocation.journal.commands;
    this.#findings.require(
      durable,
      "a command is acknowledged only when it is durable",
      () => `${record.name}: command ${index}`,
    );
  }

  /** The handler does not repeat the commands of the journal. */
  mismatch(record: AttemptRecord, detail: string): void {
    if (!this.#counts(record)) return;
    this.#findings.report("a replay repeats the commands of the handler", `${record.name}: ${detail}`);
  }
}
