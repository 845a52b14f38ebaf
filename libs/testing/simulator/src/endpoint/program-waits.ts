/** Lets programs wait for results: at once, or later for several in one of the ways that SDKs have. */
import type { Future, NotificationId } from "@perdure/service-protocol";
import { textOf } from "./notification-text.js";
import type { HandlerScript, Pending, ProgramProgress } from "./program-progress.js";

// ── waiting ──────────────────────────────────────────────────────────────────────────────────────

/** Waits at once, or leaves the wait to a later join. */
export function* now(progress: ProgramProgress, name: string, id: NotificationId, later: boolean): HandlerScript<void> {
  progress.pending.push({ name, id });
  if (later) return;
  yield { kind: "wait", future: one(id), deaf: false };
  collect(progress);
}

/** Waits for deferred results, in one of the ways that SDKs have. */
export function* join(
  progress: ProgramProgress,
  how: "all" | "first" | "settled" | "anySuccess" | "unknown",
): HandlerScript<void> {
  if (progress.pending.length === 0) return;
  yield { kind: "wait", future: together(progress.pending, how), deaf: false };
  collect(progress);
}

/** Records the results that have become visible, in the order of their requests. */
function collect({ around, pending, observed }: ProgramProgress): void {
  const left: Pending[] = [];
  for (const each of pending) {
    const notification = around.conversation.consumedNotification(each.id);
    if (notification === undefined) left.push(each);
    else observed.push(`${each.name}=${textOf(notification)}`);
  }
  pending.splice(0, pending.length, ...left);
}

const COMBINATOR = {
  all: "allSucceededOrFirstFailed",
  first: "firstCompleted",
  settled: "allCompleted",
  anySuccess: "firstSucceededOrAllFailed",
  unknown: "unknown",
} as const;

/** Puts the first half directly below the root and the rest in a nested node, so that trees have some depth. */
function together(pending: readonly Pending[], how: keyof typeof COMBINATOR): Future {
  const half = Math.ceil(pending.length / 2);
  const upper = node(pending.slice(0, half), COMBINATOR[how]);
  if (half === pending.length) return upper;
  return { ...upper, nested: [node(pending.slice(half), COMBINATOR[how])] };
}

function node(leaves: readonly Pending[], combinator: Future["combinator"]): Future {
  const completions: number[] = [];
  const signalIndexes: number[] = [];
  const signalNames: string[] = [];
  for (const { id } of leaves) {
    if (id.kind === "completion") completions.push(id.id);
    else if (id.kind === "signalIndex") signalIndexes.push(id.index);
    else signalNames.push(id.name);
  }
  return { completions, signalIndexes, signalNames, nested: [], combinator };
}

export function one(id: NotificationId): Future {
  return node([{ name: "", id }], "firstCompleted");
}
