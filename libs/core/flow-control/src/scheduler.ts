/**
 * Decides which invocations may start now. One scheduler belongs to one partition, which leads whole scopes, so its counts are exact.
 * It receives only durable facts (which invocations wait, started or left) and admits waiting ones; a slot counts from the admission
 * until its release is durable, so that no crash and no delay exceeds the rules. It has no clock and does no I/O.
 *
 *     request ──▶ waiting ── admit() ──▶ admitting ── started() ──▶ running ── left()
 *                    ▲                       └── unused() ─┘ (back to waiting, or away if it left meanwhile)
 *
 * Everything is O(log n) in the number of waiting invocations; `admit` returns all that may start (it is work-conserving) up to a bound
 * per call. Memory: an object for each invocation that waits or runs, and nodes for the scopes and keys they name or whose buckets are
 * not full.
 *
 * Measured 2026-11-21 (bench/flow.bench.ts, 2 cores shared with others, Node 24) with 100,000 waiting: a request 3–6 µs, a start with
 * its release 8–20 µs, ~240 bytes each; with 100,000 limit keys of one entry each 20 µs and ~1.3 kB.
 */
import { type InvocationId, invariant, type VqueueId, vqueueId } from "@perdure/base";
import type { BucketValue } from "./bucket.js";
import { NOWHERE } from "./heap.js";
import { LimitTree } from "./limit-tree.js";
import { ADMISSIONS_MAX } from "./limits.js";
import { PRIORITY_DEFAULT, PRIORITY_STEP_MS } from "./rule.js";
import type { RuleBook } from "./rule-book.js";
import { LimitLeaf, type LimitNode, type SchedulerEntry, type ServiceQueue } from "./tree.js";

/** The facts of an invocation of a scope that the scheduler needs. */
export interface FlowSubject {
  readonly id: InvocationId;
  readonly service: string;
  readonly scope: string;
  readonly limitKey: string | undefined;
  readonly priority: number;
}

/** A slot that was given to an invocation. */
interface SlotAdmission {
  readonly id: InvocationId;
  /** The new fill of the buckets that the start draws on, to be stored with it. */
  readonly buckets: readonly BucketValue[];
}

const NO_BUCKETS: readonly BucketValue[] = [];

export class FlowScheduler {
  readonly #tree: LimitTree;
  readonly #entries = new Map<InvocationId, SchedulerEntry>();
  readonly #paused = new Set<VqueueId>();
  #sequence = 0;

  constructor(book: RuleBook) {
    this.#tree = new LimitTree(book);
  }

  /** Whether the scheduler has no entries, nodes and pauses. */
  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#tree.root.children.size === 0;
  }

  // ── input ───────────────────────────────────────────────────────────────────────────────────────

  /** Queues an invocation for a start (`isWoken`: for continuing). `sinceMs`: when it began to wait. */
  request(subject: FlowSubject, sinceMs: number, isWoken: boolean): void {
    const existing = this.#entries.get(subject.id);
    if (existing === undefined) {
      const entry = this.#newEntry(subject, sinceMs, isWoken);
      return this.#enqueue(entry);
    }
    if (existing.state === "waiting" || existing.state === "held") return;
    existing.sinceMs = sinceMs;
    existing.isWoken = isWoken;
    if (existing.state === "admitting") {
      existing.needsSlot = true;
    } else {
      this.#release(existing);
      this.#enqueue(existing);
    }
  }

  /** The invocation runs: it was admitted, or no rule limited it. */
  started(subject: FlowSubject): void {
    const existing = this.#entries.get(subject.id);
    if (existing === undefined) {
      const entry = this.#newEntry(subject, 0, false);
      entry.state = "running";
      return this.#occupy(entry);
    }
    if (existing.state === "waiting" || existing.state === "held") {
      this.#dequeue(existing);
      this.#occupy(existing);
    }
    existing.state = "running";
  }

  /** The admission of the invocation was not used. */
  unused(id: InvocationId): void {
    const entry = this.#entries.get(id);
    if (entry?.state !== "admitting") return;
    this.#release(entry);
    if (entry.needsSlot) this.#enqueue(entry);
    else this.#drop(entry);
  }

  /** The invocation neither runs nor waits any more. If it is being admitted, it keeps its slot until `started` or `unused`. */
  left(id: InvocationId): void {
    const entry = this.#entries.get(id);
    switch (entry?.state) {
      case "waiting":
      case "held":
        this.#dequeue(entry);
        return this.#drop(entry);
      case "running":
        this.#release(entry);
        return this.#drop(entry);
      case "admitting":
        entry.needsSlot = false;
        return;
      case undefined:
        return;
    }
  }

  /** Adds a stored bucket, when leadership starts. */
  restoreBucket(bucket: BucketValue, nowMs: number): void {
    this.#tree.restoreBucket(bucket, nowMs);
  }

  /** A queue was paused or resumed; it is identified by its id alone, because it may have no entries yet. */
  switchQueue(id: VqueueId, isPaused: boolean): void {
    if (isPaused) this.#paused.add(id);
    else this.#paused.delete(id);
    for (const queue of this.#queues()) {
      if (idOf(queue) !== id || queue.isPaused === isPaused) continue;
      queue.isPaused = isPaused;
      this.#moveEntries(queue);
    }
  }

  /** Replaces all rules. Running invocations count by the new ones. */
  setRules(book: RuleBook, nowMs: number): void {
    this.#tree.setRules(book, nowMs, () => {
      for (const entry of this.#entries.values()) entry.order = this.#orderOf(entry);
    });
  }

  // ── output ──────────────────────────────────────────────────────────────────────────────────────

  /** Returns slots for all invocations that may start, the next first; beyond a bound, the rest on the next call. */
  admit(nowMs: number): readonly SlotAdmission[] {
    this.#tree.advance(nowMs);
    const admissions: SlotAdmission[] = [];
    while (admissions.length < ADMISSIONS_MAX && this.#tree.root.canAny) admissions.push(this.#admitNext(nowMs));
    return admissions;
  }

  /** Whether `admit` would return a slot at once. */
  get hasMore(): boolean {
    return this.#tree.root.canAny;
  }

  /** Time at which `admit` must be called without a new event; undefined: not before an event. */
  get nextAtMs(): number | undefined {
    return this.#tree.nextAtMs;
  }

  /** Returns stored buckets that can be deleted, each once. */
  takeUnusedBuckets(): readonly string[] {
    return this.#tree.takeUnusedBuckets();
  }

  // ── introspection ───────────────────────────────────────────────────────────────────────────────

  get nowMs(): number {
    return this.#tree.nowMs;
  }
  entry(id: InvocationId): SchedulerEntry | undefined {
    return this.#entries.get(id);
  }
  entries(): Iterable<SchedulerEntry> {
    return this.#entries.values();
  }
  nodes(): Iterable<LimitNode> {
    return this.#tree.nodes();
  }

  // ── admission ──────────────────────────────────────────────────────────────────────────────────

  #admitNext(nowMs: number): SlotAdmission {
    let node = this.#tree.root;
    let onlyWoken = false;
    for (;;) {
      onlyWoken ||= node.isClosed;
      const branch = node.next(onlyWoken);
      invariant(branch !== undefined, "a node that can start something has a branch that can");
      node.served(branch, onlyWoken);
      if (branch instanceof LimitLeaf) return this.#give(branch, onlyWoken, nowMs);
      node = branch as LimitNode;
    }
  }

  #give(leaf: LimitLeaf, onlyWoken: boolean, nowMs: number): SlotAdmission {
    const entry = leaf.woken.peek() ?? (onlyWoken ? undefined : leaf.fresh.peek());
    invariant(entry !== undefined, "a leaf that can start has a waiting entry");
    this.#dequeue(entry);
    entry.state = "admitting";
    entry.needsSlot = true;
    const buckets = entry.isWoken ? NO_BUCKETS : this.#tree.draw(leaf.node, nowMs);
    this.#occupy(entry);
    return { id: entry.id, buckets };
  }

  #occupy(entry: SchedulerEntry): void {
    for (let node: LimitNode | undefined = entry.leaf.node; node !== undefined; node = node.parent) node.usage++;
    this.#tree.refreshLeaf(entry.leaf);
  }

  #release(entry: SchedulerEntry): void {
    for (let node: LimitNode | undefined = entry.leaf.node; node !== undefined; node = node.parent) node.usage--;
    this.#tree.refreshLeaf(entry.leaf);
  }

  // ── queueing ───────────────────────────────────────────────────────────────────────────────────

  #newEntry(subject: FlowSubject, sinceMs: number, isWoken: boolean): SchedulerEntry {
    const { id, service, scope, limitKey, priority } = subject;
    const leaf = this.#tree.leafFor(scope, limitKey);
    const queue = this.#queueFor(leaf, service, scope, limitKey);
    const entry: SchedulerEntry = {
      id,
      queue,
      leaf,
      state: "running",
      needsSlot: true,
      isWoken,
      priority,
      sinceMs,
      order: 0,
      sequence: this.#sequence++,
      at: NOWHERE,
    };
    this.#entries.set(id, entry);
    queue.entryCount++;
    for (let node: LimitNode | undefined = leaf.node; node !== undefined; node = node.parent) node.entryCount++;
    return entry;
  }

  #enqueue(entry: SchedulerEntry): void {
    entry.order = this.#orderOf(entry);
    entry.queue.waitingCount++;
    if (entry.queue.isPaused) {
      entry.state = "held";
      return;
    }
    entry.state = "waiting";
    (entry.isWoken ? entry.leaf.woken : entry.leaf.fresh).push(entry);
    this.#tree.refreshLeaf(entry.leaf);
  }

  #dequeue(entry: SchedulerEntry): void {
    entry.queue.waitingCount--;
    if (entry.state !== "waiting") return;
    (entry.isWoken ? entry.leaf.woken : entry.leaf.fresh).remove(entry);
    this.#tree.refreshLeaf(entry.leaf);
  }

  /** Moves the entries of a queue that was paused or resumed. */
  #moveEntries(queue: ServiceQueue): void {
    for (const entry of this.#entries.values()) {
      if (entry.queue !== queue || (entry.state !== "waiting" && entry.state !== "held")) continue;
      this.#dequeue(entry);
      this.#enqueue(entry);
    }
  }

  #drop(entry: SchedulerEntry): void {
    this.#entries.delete(entry.id);
    const { leaf, queue } = entry;
    if (--queue.entryCount === 0) leaf.queues.delete(queue.service);
    for (let node: LimitNode | undefined = leaf.node; node !== undefined; node = node.parent) node.entryCount--;
    if (leaf.queues.size === 0) {
      invariant(leaf.anyAt === NOWHERE && leaf.wokenAt === NOWHERE, "a leaf without entries is in no order");
      leaf.node.leaf = undefined;
    }
    this.#tree.dropIfIdle(leaf.node);
  }

  #orderOf(entry: SchedulerEntry): number {
    let { priority } = entry;
    for (
      let node: LimitNode | undefined = entry.leaf.node;
      priority === PRIORITY_DEFAULT && node !== undefined;
      node = node.parent
    ) {
      const preset = node.rule?.priority;
      if (preset === undefined) continue;
      priority = preset;
      break;
    }
    return entry.sinceMs + (priority - 1) * PRIORITY_STEP_MS;
  }

  #queueFor(leaf: LimitLeaf, service: string, scope: string, limitKey: string | undefined): ServiceQueue {
    let queue = leaf.queues.get(service);
    if (queue === undefined) {
      queue = { service, scope, limitKey, id: undefined, isPaused: false, entryCount: 0, waitingCount: 0 };
      if (this.#paused.size > 0) queue.isPaused = this.#paused.has(idOf(queue));
      leaf.queues.set(service, queue);
    }
    return queue;
  }

  *#queues(): Iterable<ServiceQueue> {
    for (const node of this.#tree.nodes()) if (node.leaf !== undefined) yield* node.leaf.queues.values();
  }
}

/** Computed only where the id is needed. */
export function idOf(queue: ServiceQueue): VqueueId {
  queue.id ??= vqueueId({ service: queue.service, scope: queue.scope, limitKey: queue.limitKey, lockKey: undefined });
  return queue.id;
}
