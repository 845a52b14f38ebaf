/**
 * Decides whether a suspended invocation may resume (§9.2). The tree is evaluated against the notifications that have arrived; resolved
 * children are removed, so that each later notification is matched against the remainder only.
 *
 *     node                        resolves when                      passes up
 *     firstCompleted              any child has                      that child's outcome; either when several disagree
 *     unknown                     any child has                      either
 *     allCompleted                all children have                  success
 *     firstSucceededOrAllFailed   one success, or all failures       accordingly
 *     allSucceededOrFirstFailed   one failure, or all successes      accordingly
 *
 * When one of the last two meets an outcome that may be either, only the SDK can decide: the invocation resumes at once. Resuming too early
 * costs one more suspension; resuming too late would block the invocation for ever.
 */
import { unreachable } from "@perdure/base";
import type { Combinator, Future } from "./future.js";
import type { NotificationId } from "./values.js";

/** The outcome of an awaited completion or signal; "either" when its variant is unknown. */
export type LeafOutcome = "success" | "failure" | "either";

type FutureEvaluation = { readonly kind: "resolved" } | { readonly kind: "pending"; readonly remaining: Future };

/** Answers for the leaves of a tree: how each ended, undefined while it has not. */
interface Leaves {
  completion(id: number): LeafOutcome | undefined;
  signalIndex(index: number): LeafOutcome | undefined;
  signalName(name: string): LeafOutcome | undefined;
}

type NodeResult =
  | { readonly kind: "pending"; readonly remaining: Future }
  | { readonly kind: "resolved"; readonly outcome: LeafOutcome }
  /** The SDK has to decide: ends the evaluation of the whole tree. */
  | { readonly kind: "resume" };

const resolved: FutureEvaluation = Object.freeze({ kind: "resolved" });
const resume: NodeResult = Object.freeze({ kind: "resume" });
const leafResults: Readonly<Record<LeafOutcome, NodeResult>> = {
  success: { kind: "resolved", outcome: "success" },
  failure: { kind: "resolved", outcome: "failure" },
  either: { kind: "resolved", outcome: "either" },
};

/**
 * Evaluates against everything that has arrived, as on receiving a suspension.
 *
 * @param lookup outcome of a stored notification; undefined when it has not arrived
 */
export function evaluateFuture(future: Future, lookup: (id: NotificationId) => LeafOutcome | undefined): FutureEvaluation {
  return conclude(
    evaluateNode(future, {
      completion: (id) => lookup({ kind: "completion", id }),
      signalIndex: (index) => lookup({ kind: "signalIndex", index }),
      signalName: (name) => lookup({ kind: "signalName", name }),
    }),
  );
}

/**
 * Evaluates against one notification that has just arrived; all others are pending. Returns `future` itself as the remainder when the
 * notification is not awaited.
 */
export function narrowFuture(future: Future, arrived: NotificationId, outcome: LeafOutcome): FutureEvaluation {
  return conclude(evaluateNode(future, oneLeaf(arrived, outcome)));
}

function oneLeaf(arrived: NotificationId, outcome: LeafOutcome): Leaves {
  const completionId = arrived.kind === "completion" ? arrived.id : undefined;
  const signalIndex = arrived.kind === "signalIndex" ? arrived.index : undefined;
  const signalName = arrived.kind === "signalName" ? arrived.name : undefined;
  return {
    completion: (id) => (id === completionId ? outcome : undefined),
    signalIndex: (index) => (index === signalIndex ? outcome : undefined),
    signalName: (name) => (name === signalName ? outcome : undefined),
  };
}

function conclude(result: NodeResult): FutureEvaluation {
  return result.kind === "pending" ? result : resolved;
}

/** Counts of the outcomes of one node's children so far. */
interface OutcomeCounts {
  successes: number;
  failures: number;
  eithers: number;
}

function evaluateNode(future: Future, leaves: Leaves): NodeResult {
  const counts: OutcomeCounts = { successes: 0, failures: 0, eithers: 0 };
  const completions = keepPending(future.completions, leaves.completion, counts);
  const signalIndexes = keepPending(future.signalIndexes, leaves.signalIndex, counts);
  const signalNames = keepPending(future.signalNames, leaves.signalName, counts);
  let nested: Future[] | undefined;
  for (let i = 0; i < future.nested.length; i++) {
    const child = future.nested[i]!;
    const result = evaluateNode(child, leaves);
    if (result.kind === "resume") return result;
    if (result.kind === "resolved") count(counts, result.outcome);
    if (result.kind === "pending" && result.remaining === child) nested?.push(child);
    else {
      nested ??= future.nested.slice(0, i);
      if (result.kind === "pending") nested.push(result.remaining);
    }
  }
  const nestedLeft = nested ?? future.nested;
  const pendingCount = completions.length + signalIndexes.length + signalNames.length + nestedLeft.length;
  const result = resolveNode(future.combinator, counts, pendingCount);
  if (result !== undefined) return result;
  const unchanged = nested === undefined && countOf(counts) === 0;
  const { combinator } = future;
  return {
    kind: "pending",
    remaining: unchanged ? future : { completions, signalIndexes, signalNames, nested: nestedLeft, combinator },
  };
}

/** The leaves that have not arrived; the list itself when none has. */
function keepPending<T>(ids: readonly T[], outcomeOf: (id: T) => LeafOutcome | undefined, counts: OutcomeCounts): readonly T[] {
  let kept: T[] | undefined;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    const outcome = outcomeOf(id);
    if (outcome === undefined) kept?.push(id);
    else {
      kept ??= ids.slice(0, i);
      count(counts, outcome);
    }
  }
  return kept ?? ids;
}

function count(counts: OutcomeCounts, outcome: LeafOutcome): void {
  if (outcome === "success") counts.successes++;
  else if (outcome === "failure") counts.failures++;
  else counts.eithers++;
}

function countOf(counts: OutcomeCounts): number {
  return counts.successes + counts.failures + counts.eithers;
}

/** The table above; undefined while the node is pending. A node without children resolves only if it waits for all. */
function resolveNode(combinator: Combinator, counts: OutcomeCounts, pendingCount: number): NodeResult | undefined {
  switch (combinator) {
    case "unknown":
      return countOf(counts) === 0 ? undefined : leafResults.either;
    case "firstCompleted":
      // The lists do not contain the order of arrival, so disagreeing children leave the outcome open.
      if (counts.eithers > 0 || (counts.successes > 0 && counts.failures > 0)) return leafResults.either;
      if (counts.successes > 0) return leafResults.success;
      return counts.failures > 0 ? leafResults.failure : undefined;
    case "allCompleted":
      return pendingCount === 0 ? leafResults.success : undefined;
    case "firstSucceededOrAllFailed":
      if (counts.successes > 0) return leafResults.success;
      if (counts.eithers > 0) return resume;
      return pendingCount === 0 ? leafResults.failure : undefined;
    case "allSucceededOrFirstFailed":
      if (counts.failures > 0) return leafResults.failure;
      if (counts.eithers > 0) return resume;
      return pendingCount === 0 ? leafResults.success : undefined;
    default:
      return unreachable(combinator);
  }
}
