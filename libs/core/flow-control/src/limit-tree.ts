/**
 * The tree of scopes and limit keys with their buckets: which nodes can start something, when closed buckets open, and which buckets are
 * full again. It has no clock: time is what `advance` was last given.
 */
import { type BucketValue, book as bookStart, isFull as isBucketFull } from "./bucket.js";
import { Heap } from "./heap.js";
import { BUCKET_SWEEP_MS } from "./limits.js";
import { type RuleBook, splitLimitKey } from "./rule-book.js";
import { type Branch, LimitLeaf, LimitNode } from "./tree.js";

const NO_NAMES: readonly string[] = [];
const NO_BUCKETS: readonly BucketValue[] = [];
const NEVER = Number.POSITIVE_INFINITY;

export class LimitTree {
  readonly root = new LimitNode(undefined, "", undefined, undefined);
  #book: RuleBook;
  /** Closed buckets under which a new invocation waits, by the time at which they open. */
  readonly #openings = new Heap<"openingAt", LimitNode>("openingAt", (a, b) => a.opensAtMs < b.opensAtMs);
  /** Nodes with a bucket that was drawn on. */
  readonly #drawn = new Set<LimitNode>();
  /** Names of stored buckets that can be deleted. */
  #unusedBuckets = new Set<string>();
  #sweepAtMs = 0;
  #nowMs = 0;

  constructor(book: RuleBook) {
    this.#book = book;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Time at which the next bucket opens or is to be swept; undefined: never. */
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

  /** Replaces all rules; `reorder` gives the waiting entries their new order. */
  setRules(book: RuleBook, nowMs: number, reorder: () => void): void {
    this.#book = book;
    this.#nowMs = nowMs;
    const nodes = [...this.nodes()];
    for (const node of nodes) if (this.#openings.has(node)) this.#openings.remove(node);
    for (const node of nodes) this.#obey(node);
    reorder();
    for (const node of nodes) {
      node.leaf?.fresh.reorder();
      node.leaf?.woken.reorder();
    }
    // From the leaves up, because the state of a node depends on that of its branches.
    for (const node of nodes.reverse()) this.#refresh(node);
    for (const node of nodes) this.dropIfIdle(node);
  }

  // ── time ───────────────────────────────────────────────────────────────────────────────────────

  advance(nowMs: number): void {
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
    this.dropIfIdle(node);
  }

  /** Draws one start from each bucket above. */
  draw(from: LimitNode, nowMs: number): readonly BucketValue[] {
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

  // ── nodes ──────────────────────────────────────────────────────────────────────────────────────

  refreshLeaf(leaf: LimitLeaf): void {
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

  leafFor(scope: string, limitKey: string | undefined): LimitLeaf {
    const { l1, l2 } = limitKey === undefined ? { l1: undefined, l2: undefined } : splitLimitKey(limitKey);
    const node = this.#nodeFor(scope, l1, l2);
    node.leaf ??= new LimitLeaf(node);
    return node.leaf;
  }

  #nodeFor(scope: string, l1: string | undefined, l2: string | undefined): LimitNode {
    let node = this.#childOf(this.root, scope, scope, undefined, undefined);
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
  dropIfIdle(from: LimitNode): void {
    for (let node = from; node.parent !== undefined; node = node.parent) {
      if (node.entryCount > 0 || node.children.size > 0 || this.#drawn.has(node)) return;
      node.parent.children.delete(node.l2 ?? node.l1 ?? node.scope);
    }
  }

  *nodes(): Iterable<LimitNode> {
    const rest: LimitNode[] = [...this.root.children.values()];
    for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
      yield node;
      for (const child of node.children.values()) rest.push(child);
    }
  }
}
