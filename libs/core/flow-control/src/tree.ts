/**
 * The tree of limits: scope over first component over second; invocations that compete under one limit are in the branches of one node.
 * Each node keeps the branches that could start an invocation now in the order of start-time fair queueing: a branch is served at its
 * start tag, which then moves on by 1 / weight, and a branch that returns after having had no work begins at the node's own time. So
 * each branch with work gets its share by weight, however long the queues of others, and unused shares go to the others.
 *
 *     root ─ scope ─┬─ (leaf: calls without limit key)
 *                   ├─ scope/a ─┬─ (leaf: limit key a)
 *                   │           └─ scope/a/b ── (leaf: limit key a/b)
 *
 * Two orders are kept: of branches with any waiting invocation, and of those with a woken one (which started before). Woken invocations
 * draw on no bucket, so an empty bucket delays only new ones.
 */
import type { InvocationId, VqueueId } from "@perdure/base";
import { opensAtMs } from "./bucket.js";
import { Heap, NOWHERE } from "./heap.js";
import type { FlowRule } from "./rule.js";
import type { RuleBook } from "./rule-book.js";

/**
 * `waiting`: in the order of its leaf · `held`: its queue is paused · `admitting`: has a slot, its start is not durable yet ·
 * `running`: has a slot.
 */
type EntryState = "waiting" | "held" | "admitting" | "running";

export interface SchedulerEntry {
  readonly id: InvocationId;
  readonly queue: ServiceQueue;
  readonly leaf: LimitLeaf;
  state: EntryState;
  /** Whether the invocation still needs the slot if its start is not used; valid while admitting. */
  needsSlot: boolean;
  /** Whether the invocation has run before. */
  isWoken: boolean;
  /** The priority of the invocation. */
  priority: number;
  sinceMs: number;
  /** Time that determines its place in the order of its leaf. */
  order: number;
  /** Breaks ties: first come, first served. */
  readonly sequence: number;
  at: number;
}

/** The calls of a service under one limit key. */
export interface ServiceQueue {
  readonly service: string;
  readonly scope: string;
  readonly limitKey: string | undefined;
  id: VqueueId | undefined;
  isPaused: boolean;
  /** Entries in any state. */
  entryCount: number;
  waitingCount: number;
}

/** A branch of a node. */
abstract class Branch {
  readonly parent: LimitNode | undefined;
  weight = 1;
  /** Place of the node in the order of its parent. */
  startTag = 0;
  anyAt = NOWHERE;
  wokenAt = NOWHERE;

  constructor(parent: LimitNode | undefined) {
    this.parent = parent;
  }

  /** Whether the node could start any invocation now. */
  abstract get canAny(): boolean;
  /** Whether a woken invocation could continue now. */
  abstract get canWoken(): boolean;
}

/** Entries with the same limit key. */
export class LimitLeaf extends Branch {
  readonly node: LimitNode;
  readonly fresh = new Heap<"at", SchedulerEntry>("at", entryBefore);
  readonly woken = new Heap<"at", SchedulerEntry>("at", entryBefore);
  readonly queues = new Map<string, ServiceQueue>();

  constructor(node: LimitNode) {
    super(node);
    this.node = node;
  }

  get canAny(): boolean {
    return this.fresh.size > 0 || this.woken.size > 0;
  }
  get canWoken(): boolean {
    return this.woken.size > 0;
  }
}

/** The root, a scope, or a component of a limit key. */
export class LimitNode extends Branch {
  readonly scope: string;
  readonly l1: string | undefined;
  readonly l2: string | undefined;
  /** Name of its counter and bucket: `scope`, `scope/l1`, `scope/l1/l2`; the root has none. */
  readonly name: string;
  rule: FlowRule | undefined;
  /** Number of slots used at this level and below. */
  usage = 0;
  /** Number of entries in any state at this level and below. */
  entryCount = 0;
  /** The bucket (`bucket.ts`); 0 while full. */
  bookedUntilMicros = 0;
  opensAtMs = 0;
  isClosed = false;
  /** Index in the scheduler's heap of buckets to open. */
  openingAt = NOWHERE;
  virtualTime = 0;
  readonly any = new Heap<"anyAt", Branch>("anyAt", branchBefore);
  readonly woken = new Heap<"wokenAt", Branch>("wokenAt", branchBefore);
  readonly children = new Map<string, LimitNode>();
  leaf: LimitLeaf | undefined;

  constructor(parent: LimitNode | undefined, scope: string, l1: string | undefined, l2: string | undefined) {
    super(parent);
    this.scope = scope;
    this.l1 = l1;
    this.l2 = l2;
    this.name = l1 === undefined ? scope : l2 === undefined ? `${scope}/${l1}` : `${scope}/${l1}/${l2}`;
  }

  get isFull(): boolean {
    return this.rule?.concurrency !== undefined && this.usage >= this.rule.concurrency;
  }
  get canAny(): boolean {
    return !this.isFull && (this.isClosed ? this.woken : this.any).size > 0;
  }
  get canWoken(): boolean {
    return !this.isFull && this.woken.size > 0;
  }

  obey(book: RuleBook): void {
    this.rule = this.scope === "" ? undefined : book.ruleFor(this.scope, this.l1, this.l2);
    this.weight = this.rule?.weight ?? 1;
  }

  /** Updates the state after the bucket has changed, or time has gone back. */
  updateBucket(nowMs: number): void {
    const rate = this.rule?.rate;
    this.opensAtMs = rate === undefined ? 0 : opensAtMs(this.bookedUntilMicros, rate, nowMs);
  }

  /** Returns the branch that is served next: of all branches, or of those with a woken invocation. */
  next(onlyWoken: boolean): Branch | undefined {
    return (onlyWoken ? this.woken : this.any).peek();
  }

  served(branch: Branch, onlyWoken: boolean): void {
    if (!onlyWoken && branch.startTag > this.virtualTime) this.virtualTime = branch.startTag;
    branch.startTag += 1 / branch.weight;
    if (this.any.has(branch)) this.any.moved(branch);
    if (this.woken.has(branch)) this.woken.moved(branch);
  }

  /** Puts a branch in its present place. */
  place(branch: Branch): void {
    const { canAny, canWoken } = branch;
    if (canAny && !this.any.has(branch)) {
      if (branch.startTag < this.virtualTime) branch.startTag = this.virtualTime;
      this.any.push(branch);
    } else if (!canAny && this.any.has(branch)) {
      this.any.remove(branch);
    }
    if (canWoken !== this.woken.has(branch)) {
      if (canWoken) this.woken.push(branch);
      else this.woken.remove(branch);
    }
  }
}

function entryBefore(a: SchedulerEntry, b: SchedulerEntry): boolean {
  return a.order < b.order || (a.order === b.order && a.sequence < b.sequence);
}

function branchBefore(a: Branch, b: Branch): boolean {
  return a.startTag < b.startTag;
}

export type { Branch };
