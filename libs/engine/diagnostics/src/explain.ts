/**
 * Explains why an invocation does not progress. An invocation that waits for another one is stuck for the other one's reason, so this
 * follows the waits to their ends and finds deadlocks: invocations that wait for each other never progress.
 */
import type { InvocationId } from "@perdure/base";
import type { Awaited, AwaitLeaf } from "./awaiting.js";
import { leavesOf } from "./awaiting.js";
import { CHAIN_DEPTH_MAX, CHAIN_INVOCATIONS_MAX } from "./limits.js";
import { type Situation, type Wait, waitsOn } from "./wait.js";

/** Relation in which one invocation of a chain depends on the next. */
type Relation = "asked" | "lockHolder" | "call" | "attach";

export interface ChainLink {
  readonly relation: Relation;
  readonly id: InvocationId;
  /** Undefined: nothing is stored about it (any more). */
  readonly situation: Situation | undefined;
}

interface Deadlock {
  /** The invocations of a circle of waits, in order: each waits for the next, and the last one for the first. */
  readonly ids: readonly InvocationId[];
  /**
   * False when a handler of the circle runs and its SDK does not report what it awaits, or when something outside may fail and open the
   * circle.
   */
  readonly isCertain: boolean;
}

export interface Explanation {
  readonly situation: Situation;
  /** Invocations from the explained one to the one that really blocks, both included. */
  readonly chain: readonly ChainLink[];
  /** Whether the bounds stopped the search before its end. */
  readonly chainIsCut: boolean;
  readonly deadlock: Deadlock | undefined;
}

/**
 * Follows `waitsOn` from `root` and reads each invocation once, the nearest first, within the bounds. `read` resolves with undefined for an
 * invocation that is not stored.
 */
export async function gatherSituations(
  root: Situation,
  read: (id: InvocationId) => Promise<Situation | undefined>,
): Promise<ReadonlyMap<InvocationId, Situation | undefined>> {
  const situations = new Map<InvocationId, Situation | undefined>([[root.id, root]]);
  let level: readonly InvocationId[] = waitsOn(root.wait);
  for (let depth = 0; depth < CHAIN_DEPTH_MAX && level.length > 0; depth++) {
    const next: InvocationId[] = [];
    for (const id of level) {
      if (situations.has(id)) continue;
      if (situations.size >= CHAIN_INVOCATIONS_MAX) return situations;
      const situation = await read(id);
      situations.set(id, situation);
      if (situation !== undefined) next.push(...waitsOn(situation.wait));
    }
    level = next;
  }
  return situations;
}

/** Explains `root` with the situations of the invocations that it depends on. */
export function explain(root: Situation, situations: ReadonlyMap<InvocationId, Situation | undefined>): Explanation {
  const walk: DeadlockSearch = { situations, path: [], stepsLeft: WALK_STEPS_MAX };
  const deadlock = stuck(root.id, walk);
  const chain: ChainLink[] = [{ relation: "asked", id: root.id, situation: root }];
  const visited = new Set<InvocationId>([root.id]);
  let at: Situation | undefined = root;
  let chainIsCut = walk.stepsLeft < 0; // The search for a circle stopped at its bound, so finding none proves nothing.
  while (at !== undefined) {
    const next = pickBlocker(at.wait, situations);
    if (next === undefined) break;
    if (visited.has(next.id)) break; // `deadlock` reports a circle.
    if (!situations.has(next.id)) {
      chainIsCut = true;
      break;
    }
    visited.add(next.id);
    at = situations.get(next.id);
    chain.push({ relation: next.relation, id: next.id, situation: at });
  }
  return { situation: root, chain, chainIsCut, deadlock };
}

/** The invocation to follow next: the first unfinished one. None when something other than an invocation can end the wait. */
function pickBlocker(
  wait: Wait,
  situations: ReadonlyMap<InvocationId, Situation | undefined>,
): { readonly relation: Relation; readonly id: InvocationId } | undefined {
  if (wait.kind === "objectLock") {
    return wait.lock.holder === undefined ? undefined : { relation: "lockHolder", id: wait.lock.holder };
  }
  const leaves = blockingLeaves(wait);
  const isOpen = ({ id }: { readonly id: InvocationId }) => situations.get(id)?.status !== "completed";
  const linked = leaves.flatMap((leaf) =>
    (leaf.kind === "call" || leaf.kind === "attach") && leaf.id !== undefined ? [{ relation: leaf.kind, id: leaf.id }] : [],
  );
  return linked.find(isOpen) ?? linked[0];
}

function blockingLeaves(wait: Wait): readonly AwaitLeaf[] {
  if (wait.kind === "awaiting") return leavesOf(wait.awaiting);
  if (wait.kind !== "running") return [];
  return wait.awaiting === undefined ? wait.open : leavesOf(wait.awaiting);
}

// ── circles ──────────────────────────────────────────────────────────────────────────────────────

interface DeadlockSearch {
  readonly situations: ReadonlyMap<InvocationId, Situation | undefined>;
  readonly path: InvocationId[];
  stepsLeft: number;
}

/** Invocations that the search checks before it stops; each can be reached on many paths. */
const WALK_STEPS_MAX = 4096;

type Circle = Deadlock | undefined;

/**
 * The circle that keeps an invocation from ever progressing; undefined while anything else can end its wait. Invocations on the path are
 * assumed stuck, which is sound: a set of invocations that only wait for each other never progresses.
 */
function stuck(id: InvocationId, walk: DeadlockSearch): Circle {
  const start = walk.path.indexOf(id);
  if (start >= 0) {
    const ids = walk.path.slice(start);
    return { ids, isCertain: ids.every((each) => reportsWhatItAwaits(walk.situations.get(each))) };
  }
  const situation = walk.situations.get(id);
  if (situation === undefined || walk.stepsLeft-- <= 0) return undefined;
  walk.path.push(id);
  const circle = stuckWait(situation.wait, walk);
  walk.path.pop();
  return circle;
}

function stuckWait(wait: Wait, walk: DeadlockSearch): Circle {
  switch (wait.kind) {
    case "objectLock":
      return wait.lock.holder === undefined ? undefined : stuck(wait.lock.holder, walk);
    case "awaiting":
      return stuckTree(wait.awaiting, walk);
    case "running":
      if (wait.awaiting !== undefined) return stuckTree(wait.awaiting, walk);
      return wait.open.length === 0 ? undefined : allStuck(wait.open, walk);
    default:
      return undefined; // Time, operators, limits and attempts progress without other invocations of this circle.
  }
}

function stuckTree(awaited: Awaited, walk: DeadlockSearch): Circle {
  switch (awaited.kind) {
    case "node": {
      if (awaited.leftOut > 0) return undefined; // Leaves that are not in the tree may end the wait.
      const children = awaited.children.filter(({ kind }) => kind !== "cancellation");
      if (awaited.mode === "all") return anyStuck(children, walk);
      if (awaited.mode === "allSuccess") return stuckUnlessOneFails(children, walk);
      return allStuck(children, walk);
    }
    case "call":
    case "attach":
      return awaited.id === undefined ? undefined : stuck(awaited.id, walk);
    default:
      return undefined;
  }
}

/** One child that never completes is enough. */
function anyStuck(children: readonly Awaited[], walk: DeadlockSearch): Circle {
  for (const child of children) {
    const circle = stuckTree(child, walk);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

/** One child that never completes is enough, unless another one may still fail and so end the wait. */
function stuckUnlessOneFails(children: readonly Awaited[], walk: DeadlockSearch): Circle {
  const circle = anyStuck(children, walk);
  if (circle === undefined) return undefined;
  const mayFail = children.some((child) => child.kind !== "timer" && stuckTree(child, walk) === undefined);
  return mayFail ? { ...circle, isCertain: false } : circle;
}

/** Every child must be stuck. */
function allStuck(children: readonly Awaited[], walk: DeadlockSearch): Circle {
  let first: Circle;
  for (const child of children) {
    const circle = stuckTree(child, walk);
    if (circle === undefined) return undefined;
    first ??= circle;
  }
  return first;
}

function reportsWhatItAwaits(situation: Situation | undefined): boolean {
  return situation?.wait.kind !== "running" || situation.wait.awaiting !== undefined;
}
