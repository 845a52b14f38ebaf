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
import { type BucketValue, book as bookStart, isFull as isBucketFull } from "./bucket.js";
import { Heap, NOWHERE } from "./heap.js";
import { ADMISSIONS_MAX, BUCKET_SWEEP_MS } from "./limits.js";
import { PRIORITY_DEFAULT, PRIORITY_STEP_MS } from "./rule.js";
import { type RuleBook, splitLimitKey } from "./rule-book.js";
import { type Branch, LimitLeaf, LimitNode, type SchedulerEntry, type ServiceQueue } from "./tree.js";

/** The facts of an invocation of a scope that the scheduler needs. */
export interface FlowSubject {
  readonly id: InvocationId;
  readonly service: string;
  readonly scope: string;
  readonly limitKey: string | undefined;
  readonly priority: number;
}

/** A slot that was given to an invocation. */
export interface SlotAdmission {
  readonly id: InvocationId;
  /** The new fill of the buckets that the start draws on, to be stored with it. */
  readonly buckets: readonly BucketValue[];
}

const NO_NAMES: readonly string[] = [];
const NO_BUCKETS: readonly BucketValue[] = [];
const NEVER = Number.POSITIVE_INFINITY;

export class FlowScheduler {
  #book: RuleBook;
  readonly #root = new LimitNode(undefined, "", undefined, undefined);
  readonly #entries = new Map<InvocationId, SchedulerEntry>();
  readonly #paused = new Set<VqueueId>();
  /** Closed buckets under which a new invocation waits, by the time at which they open. */
  readonly #openings = new Heap<"openingAt", LimitNode>("openingAt", (a, b) => a.opensAtMs < b.opensAtMs);
  /** Nodes with a bucket that was drawn on. */
  readonly #drawn = new Set<LimitNode>();
  /** Names of stored buckets that can be deleted. */
  #unusedBuckets = new Set<string>();
  #sweepAtMs = 0;
  #nowMs = 0;
  #sequence = 0;

  constructor(book: RuleBook) {
    this.#book = book;
  }

  /** Whether the scheduler has no entries, nodes and pauses. */
  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#root.children.size === 0;
  }

  // ── input ───────────────────────────────────────────────────────────────────────────────────────

  /** Queues an invocation for a start (`isWoken`: for going on). `sinceMs`: when it began to wait. */
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
  restoreBucket({ name, bookedUntilMicros }: BucketValue, nowMs: number): void {
    const [scope = "", l1, l2] = name.split("/");
    if (isBucketFull(bookedUntilMicros, nowMs) || this.#book.ruleFor(scope, l1, l2)?.rate === undefined) {
      this.#unusedBuckets.add(name);
      return;
    }
    const node = this.#nodeFor(scope, l1, l2);
    node.bookedUntilMicros = bookedUntilMicros;
    this.#nowMs = nowMs;
    this.#noteDrawn(node);
    node.updateBucket(nowMs);
    this.#refresh(node);
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
    this.#book = book;
    this.#nowMs = nowMs;
    const nodes = [...this.#nodes()];
    for (const node of nodes) if (this.#openings.has(node)) this.#openings.remove(node);
    for (const node of nodes) this.#obey(node);
    for (const entry of this.#entries.values()) entry.order = this.#orderOf(entry);
    for (const node of nodes) {
      node.leaf?.fresh.reorder();
      node.leaf?.woken.reorder();
    }
    // From the leaves up, because the state of a node depends on that of its branches.
    for (const node of nodes.reverse()) this.#refresh(node);
    for (const node of nodes) this.#dropIfIdle(node);
  }

  // ── output ──────────────────────────────────────────────────────────────────────────────────────

  /** Returns slots for all invocations that may start, the next first; beyond a bound, the rest on the next call. */
  admit(nowMs: number): readonly SlotAdmission[] {
    this.#advance(nowMs);
    const admissions: SlotAdmission[] = [];
    while (admissions.length < ADMISSIONS_MAX && this.#root.canAny) admissions.push(this.#admitNext(nowMs));
    return admissions;
  }

  /** Whether `admit` would return a slot at once. */
  get hasMore(): boolean {
    return this.#root.canAny;
  }

  /** When to call `admit` again without a new event; undefined: not before one. */
  get nextAtMs(): number | undefined {
    const at = Math.min(this.#openings.peek()?.opensAtMs ?? NEVER, this.#drawn.size === 0 ? NEVER : this.#sweepAtMs);
    return at === NEVER ? undefined : at;
  }

  /** Returns stored buckets that can be deleted, each once. */
  takeUnusedBuckets(): readonly string[] {
    if (this.#unusedBuckets.size === 0) return NO_NAMES;
    const names = [...this.#unusedBuckets];
    this.#unusedBuckets.clear();
    return names;
  }

  // ── introspection ───────────────────────────────────────────────────────────────────────────────

  get nowMs(): number {
    return this.#nowMs;
  }
  entry(id: InvocationId): SchedulerEntry | undefined {
    return this.#entries.get(id);
  }
  entries(): Iterable<SchedulerEntry> {
    return this.#entries.values();
  }
  nodes(): Iterable<LimitNode> {
    return this.#nodes();
  }

  // ── time ───────────────────────────────────────────────────────────────────────────────────────

  #advance(nowMs: number): void {
    const wentBack = nowMs < this.#nowMs;
    this.#nowMs = nowMs;
    if (wentBack) {
      for (const node of this.#drawn) {
        node.updateBucket(nowMs);
        this.#refresh(node);
      }
      this.#sweepAtMs = Math.min(this.#sweepAtMs, nowMs + BUCKET_SWEEP_MS);
    }
    for (let node = this.#openings.peek(); node !== undefined && node.opensAtMs <= nowMs; node = this.#openings.peek()) {
      this.#refresh(node);
    }
    if (this.#drawn.size > 0 && nowMs >= this.#sweepAtMs) this.#sweep();
  }

  #sweep(): void {
    for (const node of [...this.#drawn]) if (isBucketFull(node.bookedUntilMicros, this.#nowMs)) this.#dropBucket(node);
    this.#sweepAtMs = this.#nowMs + BUCKET_SWEEP_MS;
  }

  #noteDrawn(node: LimitNode): void {
    if (this.#drawn.has(node)) return;
    this.#drawn.add(node);
    this.#unusedBuckets.delete(node.name); // The start stores the bucket anew: deleting it now would delete that.
    if (this.#drawn.size === 1) this.#sweepAtMs = this.#nowMs + BUCKET_SWEEP_MS;
  }

  #dropBucket(node: LimitNode): void {
    this.#drawn.delete(node);
    node.bookedUntilMicros = 0;
    this.#unusedBuckets.add(node.name);
    node.updateBucket(this.#nowMs);
    this.#refresh(node);
    this.#dropIfIdle(node);
  }

  // ── admission ──────────────────────────────────────────────────────────────────────────────────

  #admitNext(nowMs: number): SlotAdmission {
    let node = this.#root;
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
    const buckets = entry.isWoken ? NO_BUCKETS : this.#draw(leaf.node, nowMs);
    this.#occupy(entry);
    return { id: entry.id, buckets };
  }

  /** Draws one start from each bucket above. */
  #draw(from: LimitNode, nowMs: number): readonly BucketValue[] {
    let buckets: BucketValue[] | undefined;
    for (let node: LimitNode | undefined = from; node !== undefined; node = node.parent) {
      const rate = node.rule?.rate;
      if (rate === undefined) continue;
      node.bookedUntilMicros = bookStart(node.bookedUntilMicros, rate, nowMs);
      node.updateBucket(nowMs);
      this.#noteDrawn(node);
      buckets ??= [];
      buckets.push({ name: node.name, bookedUntilMicros: node.bookedUntilMicros });
    }
    return buckets ?? NO_BUCKETS;
  }

  #occupy(entry: SchedulerEntry): void {
    for (let node: LimitNode | undefined = entry.leaf.node; node !== undefined; node = node.parent) node.usage++;
    this.#refreshLeaf(entry.leaf);
  }

  #release(entry: SchedulerEntry): void {
    for (let node: LimitNode | undefined = entry.leaf.node; node !== undefined; node = node.parent) node.usage--;
    this.#refreshLeaf(entry.leaf);
  }

  // ── queueing ───────────────────────────────────────────────────────────────────────────────────

  #newEntry(subject: FlowSubject, sinceMs: number, isWoken: boolean): SchedulerEntry {
    const { id, service, scope, limitKey, priority } = subject;
    const leaf = this.#leafFor(scope, limitKey);
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
    this.#refreshLeaf(entry.leaf);
  }

  #dequeue(entry: SchedulerEntry): void {
    entry.queue.waitingCount--;
    if (entry.state !== "waiting") return;
    (entry.isWoken ? entry.leaf.woken : entry.leaf.fresh).remove(entry);
    this.#refreshLeaf(entry.leaf);
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
    this.#dropIfIdle(leaf.node);
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

  // ── the tree ───────────────────────────────────────────────────────────────────────────────────

  #refreshLeaf(leaf: LimitLeaf): void {
    leaf.node.place(leaf);
    this.#refresh(leaf.node);
  }

  /** Updates a node and those above it after a change. */
  #refresh(from: LimitNode): void {
    for (let node = from; node.parent !== undefined; node = node.parent) {
      node.isClosed = node.rule?.rate !== undefined && node.opensAtMs > this.#nowMs;
      this.#watchOpening(node);
      node.parent.place(node as Branch);
    }
  }

  /** Registers the time at which the bucket opens, if an invocation could start then. */
  #watchOpening(node: LimitNode): void {
    const isWatched = node.isClosed && !node.isFull && node.any.size > 0;
    if (!isWatched) {
      if (this.#openings.has(node)) this.#openings.remove(node);
    } else if (this.#openings.has(node)) {
      this.#openings.moved(node);
    } else {
      this.#openings.push(node);
    }
  }

  #obey(node: LimitNode): void {
    const hadRate = node.rule?.rate !== undefined;
    node.obey(this.#book);
    if (hadRate && node.rule?.rate === undefined && this.#drawn.has(node)) {
      this.#drawn.delete(node);
      node.bookedUntilMicros = 0;
      this.#unusedBuckets.add(node.name);
    }
    node.updateBucket(this.#nowMs);
  }

  #leafFor(scope: string, limitKey: string | undefined): LimitLeaf {
    const { l1, l2 } = limitKey === undefined ? { l1: undefined, l2: undefined } : splitLimitKey(limitKey);
    const node = this.#nodeFor(scope, l1, l2);
    node.leaf ??= new LimitLeaf(node);
    return node.leaf;
  }

  #nodeFor(scope: string, l1: string | undefined, l2: string | undefined): LimitNode {
    let node = this.#childOf(this.#root, scope, scope, undefined, undefined);
    if (l1 !== undefined) node = this.#childOf(node, l1, scope, l1, undefined);
    if (l2 !== undefined) node = this.#childOf(node, l2, scope, l1, l2);
    return node;
  }

  #childOf(parent: LimitNode, key: string, scope: string, l1: string | undefined, l2: string | undefined): LimitNode {
    let child = parent.children.get(key);
    if (child === undefined) {
      child = new LimitNode(parent, scope, l1, l2);
      child.obey(this.#book);
      parent.children.set(key, child);
    }
    return child;
  }

  /** Removes a node, and those above it, that have no entries, limits in use or buckets. */
  #dropIfIdle(from: LimitNode): void {
    for (let node = from; node.parent !== undefined; node = node.parent) {
      if (node.entryCount > 0 || node.children.size > 0 || this.#drawn.has(node)) return;
      node.parent.children.delete(node.l2 ?? node.l1 ?? node.scope);
    }
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

  *#nodes(): Iterable<LimitNode> {
    const rest: LimitNode[] = [...this.#root.children.values()];
    for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
      yield node;
      for (const child of node.children.values()) rest.push(child);
    }
  }

  *#queues(): Iterable<ServiceQueue> {
    for (const node of this.#nodes()) if (node.leaf !== undefined) yield* node.leaf.queues.values();
  }
}

/** Computed only where the id is needed. */
export function idOf(queue: ServiceQueue): VqueueId {
  queue.id ??= vqueueId({ service: queue.service, scope: queue.scope, limitKey: queue.limitKey, lockKey: undefined });
  return queue.id;
}
