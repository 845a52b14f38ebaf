/** Draws the edits of a fork: other results for copied steps, and results for copied steps that have none yet. */
import { utf8 } from "@perdure/base";
import {
  decodeCommand,
  decodeNotification,
  encodeCompletion,
  isFault,
  MessageType,
  type NotificationResult,
} from "@perdure/service-protocol";
import type { ForkEdits, JournalEntry } from "@perdure/state-machine";
import { SeededRandom } from "@perdure/testkit";

const EDIT_CHANCE = 0.5;

/**
 * `entries`: the journal of the invocation that is forked at entry `from`. Other kinds of steps keep their results. Draws from a stream of its own,
 * made of `seed`: what else happens in a world does not depend on the number of draws.
 */
export function drawEdits(seed: number, entries: readonly JournalEntry[], from: number): ForkEdits {
  const random = new SeededRandom(seed);
  const editedSteps: number[] = [];
  const replaced: { index: number; body: Uint8Array }[] = [];
  const added: { type: number; body: Uint8Array }[] = [];
  for (const [step, entry] of entries.entries()) {
    const completionId = step <= from ? runCompletionIdOf(entry) : undefined;
    if (completionId === undefined || !random.chance(EDIT_CHANCE)) continue;
    const text = `edited ${random.below(1_000_000)}`;
    const index = entries.findIndex((each) => completes(each, completionId));
    const result = index === -1 ? undefined : resultOf(entries[index]);
    const body = encodeCompletion(completionId, edited(result, text));
    if (index === -1) added.push({ type: MessageType.RunCompletion, body });
    else replaced.push({ index, body });
    editedSteps.push(step);
  }
  return { editedSteps, replaced, added };
}

/** Undefined for everything but steps of programs: giving an awakeable away is a step whose effect the fork waits for. */
function runCompletionIdOf({ type, body }: JournalEntry): number | undefined {
  if (type !== MessageType.Run) return undefined;
  const command = decodeCommand(type, body);
  if (isFault(command) || command.kind !== "run" || !command.name.endsWith(".run")) return undefined;
  return command.resultCompletionId;
}

function completes({ type, body }: JournalEntry, completionId: number): boolean {
  if (type !== MessageType.RunCompletion) return false;
  const notification = decodeNotification(type, body);
  return !isFault(notification) && notification.id.kind === "completion" && notification.id.id === completionId;
}

function resultOf(entry: JournalEntry | undefined): NotificationResult | undefined {
  const notification = entry === undefined ? undefined : decodeNotification(entry.type, entry.body);
  return notification === undefined || isFault(notification) ? undefined : notification.result;
}

/** A failure stays a failure: what the program does next, and so the copied journal, depends on it. */
function edited(result: NotificationResult | undefined, text: string): NotificationResult {
  if (result?.kind !== "failure") return { kind: "value", value: utf8(text) };
  return { kind: "failure", failure: { ...result.failure, message: text } };
}
