/**
 * Checks whether new code can continue invocations that old code began. The check replays journals at the endpoint before traffic moves,
 * within bounds of count, time and bytes. It only reads, and stores nothing.
 *
 *     choose journals ▸ no handler, no version, not selected: reported at once ▸ replay the rest, a few at a time ▸ count and report
 */
import { type Clock, partitionOf } from "@perdure/base";
import type { DeploymentView, HandlerView } from "@perdure/control";
import type { ReplayResult } from "@perdure/invoker";
import {
  CHECK_BOUNDS_MAX,
  CHECK_DEFAULTS,
  type CheckBounds,
  type CheckOptions,
  type DeploymentRecord,
  type Verification,
} from "@perdure/metadata";
import { hasState, keyspaceOf } from "@perdure/state-machine";
import { CheckFindings } from "./check-findings.js";
import type { CheckPorts } from "./check-ports.js";
import { type ChosenInvocation, type SelectionCriteria, select } from "./check-selection.js";
import { CHECK_METADATA_KEY, CHECK_METADATA_OFF, CHECKED_ENTRIES_MAX, CHECKED_JOURNAL_BYTES_MAX } from "./limits.js";

/** The code to check. */
export interface Candidate {
  readonly record: DeploymentRecord;
  readonly view: DeploymentView;
  readonly rankOf: SelectionCriteria["rankOf"];
  readonly isMeant: SelectionCriteria["isMeant"];
}

/** The defaults, overridden by the options of a request, within the allowed bounds. `defaults` differ by what is checked. */
export function boundsOf(requested: CheckOptions, defaults: Partial<CheckBounds> = {}): CheckBounds {
  const bounds = { ...CHECK_DEFAULTS };
  for (const name of Object.keys(CHECK_DEFAULTS) as (keyof CheckBounds)[]) {
    bounds[name] = Math.min(requested[name] ?? defaults[name] ?? CHECK_DEFAULTS[name], CHECK_BOUNDS_MAX[name]);
  }
  return bounds;
}

/** Rejects when the store fails, or with the reason of an aborted `signal`. */
export async function checkCandidate(
  ports: CheckPorts,
  candidate: Candidate,
  bounds: CheckBounds,
  clock: Clock,
  signal: AbortSignal,
): Promise<Verification> {
  const startedAtMs = clock.monotonicMs();
  const { rankOf, isMeant } = candidate;
  const timeUp = new AbortController();
  const timer = clock.setTimer(bounds.timeoutMs, () => timeUp.abort());
  try {
    const { chosen, matchCount, isComplete } = await select(ports, { rankOf, isMeant, bounds }, clock, signal);
    const findings = new CheckFindings();
    const replays = chosen.filter((one) => !isDecidedWithoutReplay(candidate, one, findings));
    const round = new Round(ports, candidate, bounds, findings, AbortSignal.any([signal, timeUp.signal]));
    await round.run(replays);
    signal.throwIfAborted();
    return findings.verification({
      checkedAtMs: clock.nowMs(),
      durationMs: Math.round(clock.monotonicMs() - startedAtMs),
      found: matchCount,
      isComplete: isComplete && !round.wasCutShort,
    });
  } finally {
    timer.cancel();
  }
}

/** The findings that need no request to the endpoint. */
function isDecidedWithoutReplay({ record, view }: Candidate, chosen: ChosenInvocation, findings: CheckFindings): boolean {
  const { service, handler } = chosen.facts.target;
  const isCompleted = chosen.status === "completed";
  if (handlerOf(view, chosen) === undefined) {
    if (!isCompleted) findings.add("handlerMissing", chosen, `the new code has no handler '${handler}' of service '${service}'`);
    return true;
  }
  if (isOptedOut(record, chosen)) {
    findings.skip(chosen, `the handler has opted out of checks ('${CHECK_METADATA_KEY}' is '${CHECK_METADATA_OFF}')`);
    return true;
  }
  const { protocolVersion: version } = chosen.pinned;
  if (version >= view.minProtocolVersion && version <= view.maxProtocolVersion) return false;
  const why =
    `the invocation speaks service protocol ${version}, ` +
    `the new code ${view.minProtocolVersion} to ${view.maxProtocolVersion}`;
  if (isCompleted) findings.skip(chosen, why);
  else findings.add("protocolVersion", chosen, why);
  return true;
}

function handlerOf(view: DeploymentView, { facts }: ChosenInvocation): HandlerView | undefined {
  return view.services.get(facts.target.service)?.handlers.get(facts.target.handler);
}

function isOptedOut({ services }: DeploymentRecord, { facts: { target } }: ChosenInvocation): boolean {
  const service = services.find(({ definition }) => definition.name === target.service)?.definition;
  const handler = service?.handlers.find(({ name }) => name === target.handler);
  return (handler?.metadata[CHECK_METADATA_KEY] ?? service?.metadata[CHECK_METADATA_KEY]) === CHECK_METADATA_OFF;
}

/** All replays of one check. */
class Round {
  wasCutShort = false;
  readonly #ports: CheckPorts;
  readonly #candidate: Candidate;
  readonly #bounds: CheckBounds;
  readonly #findings: CheckFindings;
  readonly #signal: AbortSignal;
  #bytesLeft: number;

  constructor(ports: CheckPorts, candidate: Candidate, bounds: CheckBounds, findings: CheckFindings, signal: AbortSignal) {
    this.#ports = ports;
    this.#candidate = candidate;
    this.#bounds = bounds;
    this.#findings = findings;
    this.#signal = signal;
    this.#bytesLeft = bounds.bytes;
  }

  async run(replays: readonly ChosenInvocation[]): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let one = replays[next++]; one !== undefined; one = replays[next++]) await this.#one(one);
    };
    await Promise.all(Array.from({ length: Math.min(this.#bounds.concurrency, replays.length) }, worker));
  }

  async #one(chosen: ChosenInvocation): Promise<void> {
    if (this.#signal.aborted) return this.#cutShort(chosen, `the time of the check (${this.#bounds.timeoutMs} ms) was over`);
    if (this.#bytesLeft <= 0) return this.#cutShort(chosen, `the bytes of the check (${this.#bounds.bytes}) were used up`);
    const { facts, journalLength, pinned, lastStoredAtMs, status } = chosen;
    if (journalLength > CHECKED_ENTRIES_MAX)
      return this.#cutShort(chosen, `its journal has more than ${CHECKED_ENTRIES_MAX} entries`);
    const { store, partitionCount, replays } = this.#ports;
    const partition = partitionOf(facts.id, partitionCount);
    const entries = await store.readJournal(partition, facts.id, journalLength);
    if (entries.length !== journalLength) return this.#findings.skip(chosen, "its journal was removed");
    const state = await this.#stateOf(chosen, partition);
    const bytes = entries.reduce((sum, { body }) => sum + body.length, 0) + sizeOf(state);
    if (bytes > CHECKED_JOURNAL_BYTES_MAX) {
      return this.#cutShort(chosen, `its journal and state are longer than ${CHECKED_JOURNAL_BYTES_MAX} bytes`);
    }
    this.#bytesLeft -= bytes;
    const { protocolVersion: version } = pinned;
    const subject = { facts, version, isCompleted: status === "completed", entries, state, lastStoredAtMs };
    const result = await replays.check(this.#candidate.view, subject, this.#bounds.replayTimeoutMs, this.#signal);
    this.#record(chosen, result);
  }

  #record(chosen: ChosenInvocation, result: ReplayResult): void {
    if (this.#signal.aborted && result.kind === "failed") {
      return this.#cutShort(chosen, `the time of the check (${this.#bounds.timeoutMs} ms) was over`);
    }
    this.#findings.replayed(chosen, result);
  }

  async #stateOf(
    { facts: { target } }: ChosenInvocation,
    partition: number,
  ): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    const handler = this.#candidate.view.services.get(target.service)?.handlers.get(target.handler);
    if (!hasState(target) || handler?.enableLazyState === true) return undefined;
    return this.#ports.store.stateOf(partition, keyspaceOf(target), target.key);
  }

  #cutShort(chosen: ChosenInvocation, why: string): void {
    this.wasCutShort = true;
    this.#findings.skip(chosen, why);
  }
}

function sizeOf(state: ReadonlyMap<string, Uint8Array> | undefined): number {
  let size = 0;
  for (const [key, value] of state ?? []) size += key.length + value.length;
  return size;
}
