/**
 * PartitionStore on Redis. One script per commit checks the epoch, then everything else that can fail, and only then writes: a batch is
 * stored completely or not at all, and a deposed leader writes nothing.
 *
 * A commit whose reply is lost is sent again. The script stores the number of the last batch of the leader: a batch that is stored already
 * is answered as committed and not written a second time. So the outcome of a commit is always certain: committed, fenced, or, when Redis
 * does not answer within the timeout, unknown, which ends the leadership (STO0001).
 *
 * Durability: with `appendfsync always` every acknowledged commit survives the end of the Redis process and of its machine, as long as the
 * disk survives. The loss of the disk, and a fail-over to a replica, are survived by commits that `replicas` replicas have acknowledged
 * (`WAIT`); `min-replicas-to-write` and a majority of voters must keep a disconnected primary from accepting writes. Redis elects the
 * replica with the most data only among those that it can reach: with more replicas than `replicas`, a fail-over may lose acknowledged
 * commits.
 */
import { randomUUID } from "node:crypto";
import { type InvocationId, invariant, type OperationObserver, PerdureError, present, type VqueueId } from "@perdure/base";
import type { Invocation, JournalEntry, JournalEvent, OutboxMessage, TimerKey } from "@perdure/state-machine";
import {
  type AsyncPartitionStore,
  type CommitOutcome,
  decodeEvent,
  decodeInvocation,
  decodeNumber,
  decodeOutboxCommand,
  decodePause,
  type FetchedRow,
  type InboxRow,
  isRecoverable,
  type LockRow,
  type PartitionBatch,
  type Population,
  type PromiseRow,
  type RowKey,
  type StateRange,
  type StateRow,
  type StoredFlow,
  storedStateTtls,
  type TimerGroup,
  type WorkerId,
} from "@perdure/storage";
import { type LeaderCache, packBatch } from "./batch.js";
import { ChunkSets, type StagedPayload } from "./big-values.js";
import type { RedisConnections } from "./connect.js";
import { type ExpectedDataSet, NO_MARK } from "./data-set.js";
import { fetchRows, fieldCells, fieldOf, readJournal } from "./fetch.js";
import { keptTraceOf } from "./kept-trace.js";
import { FORMAT, objectName, parseTimerMember, partitionPrefix, TIMER_SETS } from "./keys.js";
import { CHUNKS_AT_ONCE, COMMITS_QUEUED_MAX } from "./limits.js";
import { payloadsOf } from "./payloads.js";
import { LeaderReads, type PartitionReads } from "./reads.js";
import { bytesReply, fieldsReply, listReply, numberReply } from "./replies.js";
import { scanHash } from "./scans.js";
import { claimScript, commitScript } from "./scripts.js";
import { stageCalls } from "./stage-calls.js";
import { StatusCache } from "./status-cache.js";
import {
  inboxRows,
  invocationsByStatus,
  lockRows,
  type PartitionRows,
  promiseRows,
  stateRows,
  storedInvocation,
  unfinishedInvocations,
} from "./stored-rows.js";

interface RedisPartitionStoreOptions {
  /** Name of the environment; part of every key. */
  readonly environment: string;
  /** Claims succeed only while this worker holds the partition's lease. Without a holder, any process may claim. */
  readonly holder?: WorkerId;
  /** Claims and commits succeed only in partitions that carry its mark; undefined: in any. */
  readonly dataSet?: Pick<ExpectedDataSet, "id"> | undefined;
  /** Notified of commits for invocations whose trace is kept. */
  readonly observer?: OperationObserver | undefined;
}

/** State of a partition that this process has claimed. */
interface ClaimedPartition {
  readonly epoch: number;
  /** Mark of the data set in which the partition was claimed. */
  readonly mark: string;
  readonly reads: LeaderReads;
  readonly cache: LeaderCache;
  /** Number of the last batch handed to Redis. */
  batch: number;
  /** The commit under way; the next one follows it. */
  tail: Promise<unknown>;
  queued: number;
  /** A commit failed: nothing more can be promised under this epoch. */
  broken: PerdureError | undefined;
}

export class RedisPartitionStore implements AsyncPartitionStore {
  readonly capabilities = { sharedBatch: false, syncReads: false } as const;
  readonly #redis: RedisConnections;
  readonly #options: RedisPartitionStoreOptions;
  readonly #leaderships = new Map<number, ClaimedPartition>();
  readonly #prefixes: string[] = [];

  /** The connections stay the caller's. Throws OPS0001 when the environment's name cannot be part of a key. */
  constructor(redis: RedisConnections, options: RedisPartitionStoreOptions) {
    partitionPrefix(redis, options.environment, 0);
    this.#redis = redis;
    this.#options = options;
  }

  // ── leading ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Rejects with STO0002 when the lease is not (or no longer) the holder's, STO0003 when the partition has another format, STO0005
   * when it is not of the expected data set.
   */
  async claim(partition: number): Promise<number> {
    const prefix = this.#prefix(partition);
    const mark = this.#options.dataSet?.id ?? NO_MARK;
    const call = {
      script: claimScript,
      keys: [`${prefix}epoch`, `${prefix}lease`],
      args: [FORMAT, this.#options.holder ?? "", randomUUID(), mark],
    };
    const { commits } = this.#redis;
    const replies = await commits.request([call, ["HGETALL", `${prefix}big`]], { replicated: true });
    const epoch = numberReply(present(replies[0]));
    if (epoch === OTHER_DATA_SET)
      throw new PerdureError("STO0005", `partition ${partition} does not carry the mark ${mark} of the data set`);
    if (epoch < 0) throw new PerdureError("STO0002", `the lease of partition ${partition} is not held by this worker`);
    const cache = {
      sets: new ChunkSets(epoch, listReply(present(replies[1]))),
      statuses: new StatusCache(),
    };
    const reads = new LeaderReads(this.#redis.reads, partition, prefix, { mark, epoch });
    const begun = { batch: 0, tail: Promise.resolve(), queued: 0, broken: undefined };
    this.#leaderships.set(partition, { epoch, mark, reads, cache, ...begun });
    return epoch;
  }

  /** Batches of several partitions are written each by itself, all at the same time. */
  commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    const { observer } = this.#options;
    return observer === undefined ? this.#commitAll(batches) : this.#observedCommit(batches, observer);
  }

  /** A batch belongs to the trace of its first invocation whose trace is kept, or to no trace. */
  async #observedCommit(batches: readonly PartitionBatch[], observer: OperationObserver): Promise<CommitOutcome> {
    const traceparent = keptTraceOf(batches);
    if (traceparent === undefined) return this.#commitAll(batches);
    const operation = observer.begin("COMMIT", "partition", traceparent);
    try {
      const outcome = await this.#commitAll(batches);
      operation.end(outcome.kind === "fenced" ? "fenced" : undefined);
      return outcome;
    } catch (cause) {
      operation.end(PerdureError.from(cause).code);
      throw cause;
    }
  }

  async #commitAll(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    const [only] = batches;
    if (only !== undefined && batches.length === 1) return this.#commit(only);
    const outcomes = await Promise.all(batches.map((batch) => this.#commit(batch)));
    return outcomes.find(({ kind }) => kind === "fenced") ?? COMMITTED;
  }

  async #commit({ partition, epoch, mutations }: PartitionBatch): Promise<CommitOutcome> {
    const leadership = this.#leaderships.get(partition);
    if (leadership === undefined || leadership.epoch !== epoch) {
      return { kind: "fenced", partition, by: leadership?.epoch ?? (await this.#storedEpoch(partition)) };
    }
    if (leadership.broken !== undefined) throw leadership.broken;
    if (leadership.queued >= COMMITS_QUEUED_MAX)
      throw new PerdureError("STO0001", "too many commits of one partition are waiting");
    const { packed, staged } = packBatch(mutations, epoch, leadership.batch + 1, leadership.cache);
    leadership.batch++;
    const isFirst = leadership.queued++ === 0;
    // The caller of the earlier commit gets its error; this commit then fails because the leadership is broken.
    const turn = isFirst
      ? this.#write(partition, leadership, packed, staged)
      : leadership.tail.catch(NOTHING).then(() => this.#write(partition, leadership, packed, staged));
    leadership.tail = turn;
    try {
      return await turn;
    } finally {
      leadership.queued--;
    }
  }

  async #write(
    partition: number,
    leadership: ClaimedPartition,
    packed: Buffer,
    staged: readonly StagedPayload[],
  ): Promise<CommitOutcome> {
    if (leadership.broken !== undefined) throw leadership.broken;
    const prefix = this.#prefix(partition);
    try {
      const refused = await this.#stage(prefix, leadership, staged);
      if (refused !== undefined) return { kind: "fenced", partition, by: refused };
      const call = { script: commitScript, keys: [`${prefix}epoch`], args: [packed, leadership.mark] };
      const [reply] = await this.#redis.commits.request([call], REPLICATED);
      const written = numberReply(present(reply));
      return written > 0 ? COMMITTED : { kind: "fenced", partition, by: epochOf(written) };
    } catch (cause) {
      leadership.broken = PerdureError.from(cause);
      throw leadership.broken;
    }
  }

  /**
   * Writes large payloads, in pieces that hold Redis up for no longer than small ones do. Resolves with the stored epoch when that, or the
   * data set, is another, else with undefined.
   */
  async #stage(prefix: string, { epoch, mark }: ClaimedPartition, staged: readonly StagedPayload[]): Promise<number | undefined> {
    const calls = stageCalls(prefix, epoch, mark, staged);
    for (let from = 0; from < calls.length; from += CHUNKS_AT_ONCE) {
      const replies = await this.#redis.commits.request(calls.slice(from, from + CHUNKS_AT_ONCE));
      const refused = replies.map((reply) => numberReply(reply)).find((written) => written < 0);
      if (refused !== undefined) return epochOf(refused);
    }
    return undefined;
  }

  async #storedEpoch(partition: number): Promise<number> {
    return Number(bytesReply(await this.#redis.reads.one(["HGET", `${this.#prefix(partition)}epoch`, "epoch"])) ?? 0);
  }

  // ── rows ───────────────────────────────────────────────────────────────────────────────────────
  // All reads and scans of a partition that was claimed here reject with STO0005 when it no longer carries the mark of the claim, and with
  // STO0002 when its epoch has changed: a row that was not found may be lost, so the caller must not be answered that it does not exist.

  #reads(partition: number): PartitionReads {
    return this.#leaderships.get(partition)?.reads ?? this.#redis.reads;
  }

  fetch(partition: number, keys: readonly RowKey[]): Promise<readonly FetchedRow[]> {
    return fetchRows(this.#reads(partition), this.#prefix(partition), keys);
  }

  readJournal(partition: number, id: InvocationId, length: number, bytesMax?: number): Promise<JournalEntry[]> {
    return readJournal(this.#reads(partition), this.#prefix(partition), id, length, bytesMax);
  }

  async stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const [row] = await this.fetch(partition, [{ kind: "stateOf", service, key }]);
    invariant(row?.kind === "stateOf", "rows come in the order of their keys");
    return row.value;
  }

  async promisesOf(partition: number, service: string, key: string): Promise<readonly string[]> {
    const hash = `${this.#prefix(partition)}p:${objectName(service, key)}`;
    return listReply(await this.#reads(partition).one(["HKEYS", hash])).map((name) => name.toString());
  }

  async timers(partition: number, group: TimerGroup, fromMs: number, limit: number): Promise<readonly TimerKey[]> {
    const key = this.#prefix(partition) + TIMER_SETS[group];
    const members = await this.#reads(partition).one(["ZRANGEBYSCORE", key, fromMs, "+inf", "LIMIT", 0, limit]);
    return listReply(members).map((member) => parseTimerMember(member.toString("latin1")));
  }

  async outbox(partition: number, afterSeq: number, limit: number): Promise<readonly OutboxMessage[]> {
    const reads = this.#reads(partition);
    const prefix = this.#prefix(partition);
    const range = ["ZRANGEBYSCORE", `${prefix}out:at`, `(${afterSeq}`, "+inf", "LIMIT", 0, limit] as const;
    const seqs = listReply(await reads.one(range));
    if (seqs.length === 0) return [];
    const rows = fieldsReply(await reads.one(["HMGET", `${prefix}out`, ...seqs]));
    const cells = rows.map((stored, n) => ({ stored, again: ["HGET", `${prefix}out`, present(seqs[n])] as const }));
    const messages: OutboxMessage[] = [];
    for (const [n, payload] of (await payloadsOf(reads, prefix, cells)).entries()) {
      if (payload !== undefined) messages.push({ seq: Number(seqs[n]), command: decodeOutboxCommand(payload) }); // Else acknowledged meanwhile.
    }
    return messages;
  }

  async events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]> {
    const rows = await this.#hash(partition, `ev:${id}`);
    const slots = rows.map(([slot, row]) => ({ slot: Number(slot), event: decodeEvent(row) }));
    return slots.sort((a, b) => a.event.atMs - b.event.atMs || a.slot - b.slot).map(({ event }) => event);
  }

  async flow(partition: number): Promise<StoredFlow> {
    const hashes = [this.#hash(partition, "bucket"), this.#hash(partition, "pause")] as const;
    const [buckets, pauses, stateTtls] = await Promise.all([...hashes, storedStateTtls(this, partition)]);
    return {
      buckets: buckets.map(([name, row]) => ({ name, bookedUntilMicros: decodeNumber(row) })),
      pauses: pauses.map(([queue, row]) => ({ queue: queue as VqueueId, pause: decodePause(row) })),
      stateTtls,
    };
  }

  /** A hash that is never large. */
  async #hash(partition: number, hash: string): Promise<[name: string, row: Uint8Array][]> {
    const reads = this.#reads(partition);
    const prefix = this.#prefix(partition);
    const cells = fieldCells(prefix + hash, listReply(await reads.one(["HGETALL", prefix + hash])));
    const rows: [string, Uint8Array][] = [];
    for (const [n, payload] of (await payloadsOf(reads, prefix, cells)).entries()) {
      if (payload !== undefined) rows.push([fieldOf(present(cells[n])).toString(), payload]);
    }
    return rows;
  }

  // ── scans ──────────────────────────────────────────────────────────────────────────────────────

  async *recoverable(partition: number, counted?: Population): AsyncIterable<Invocation> {
    yield* invocationsByStatus(this.#rows(partition), isRecoverable, counted);
    if (counted === undefined) return;
    const prefix = this.#prefix(partition);
    const sizes = [["HLEN", `${prefix}inv`] as const, ["HLEN", `${prefix}status`] as const, ["ZCARD", `${prefix}t`] as const];
    const replies = await this.#reads(partition).request(sizes);
    const [unfinished = 0, moving = 0, timers = 0] = replies.map(numberReply);
    counted.suspended += unfinished - moving;
    counted.timers += timers;
  }

  unfinished(partition: number, status: Invocation["status"] | undefined): AsyncIterable<Invocation> {
    return unfinishedInvocations(this.#rows(partition), status);
  }

  async *completed(partition: number): AsyncIterable<Invocation> {
    for await (const page of scanHash(this.#reads(partition), this.#prefix(partition), "done")) {
      for (const [, row] of page) yield decodeInvocation(row);
    }
  }

  /** Invocations as they are stored, many at a time, with their ids. */
  async *invocationRows(
    partition: number,
    group: "unfinished" | "completed",
  ): AsyncIterable<readonly (readonly [id: string, row: Uint8Array])[]> {
    const table = group === "unfinished" ? "inv" : "done";
    for await (const page of scanHash(this.#reads(partition), this.#prefix(partition), table)) {
      yield page.map(([id, row]) => [id.toString(), row] as const);
    }
  }

  /** One of them; undefined when it is not there. */
  async invocationRow(partition: number, id: InvocationId): Promise<Uint8Array | undefined> {
    return storedInvocation(this.#rows(partition), id);
  }

  /** Ids of those that completed before a time, oldest first: what an archive takes. */
  async completedBefore(partition: number, beforeMs: number, limit: number): Promise<readonly InvocationId[]> {
    const key = `${this.#prefix(partition)}done:at`;
    const ids = await this.#reads(partition).one(["ZRANGEBYSCORE", key, "-inf", `(${beforeMs}`, "LIMIT", 0, limit]);
    return listReply(ids).map((id) => id.toString() as InvocationId);
  }

  scanState(partition: number, service: string | undefined, where: StateRange = "everywhere"): AsyncIterable<StateRow> {
    return stateRows(this.#rows(partition), service, where);
  }

  scanPromises(partition: number): AsyncIterable<PromiseRow> {
    return promiseRows(this.#rows(partition));
  }

  scanLocks(partition: number): AsyncIterable<LockRow> {
    return lockRows(this.#rows(partition));
  }

  scanInboxes(partition: number): AsyncIterable<InboxRow> {
    return inboxRows(this.#rows(partition));
  }

  #rows(partition: number): PartitionRows {
    return { reads: this.#reads(partition), prefix: this.#prefix(partition) };
  }

  #prefix(partition: number): string {
    const cached = this.#prefixes[partition];
    if (cached !== undefined) return cached;
    const prefix = partitionPrefix(this.#redis, this.#options.environment, partition);
    this.#prefixes[partition] = prefix;
    return prefix;
  }

  /** Waits for the commits under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#leaderships.values()].map(({ tail }) => tail));
  }
}

/** The stored epoch, from the reply of a script that wrote nothing because the epoch or the data set is another. */
function epochOf(refusal: number): number {
  return -1 - refusal;
}

const COMMITTED: CommitOutcome = Object.freeze({ kind: "committed" });
const REPLICATED = { replicated: true } as const;
/** Reply of `claimScript` when the data set is another. */
const OTHER_DATA_SET = -2;
const NOTHING = (): void => undefined;
