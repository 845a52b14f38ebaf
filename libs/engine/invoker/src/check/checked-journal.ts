/**
 * The journal as a check replays it. A real attempt that reaches the end of its journal continues with the next step, and an attempt that
 * reaches a step without a result performs it. A check must do neither, so the journal ends in a command that no handler issues:
 *
 *     stored    Input · Run a · a's result · Sleep · its end · Run b (under way)
 *     replayed  Input · Run a · a's result · Sleep · its end · stop
 *
 * SDKs compare each command with the journal before they execute it. The next command of the handler is therefore refused as a journal
 * mismatch at the index of the stop, before anything was started: that refusal shows that everything before it matched.
 */

import {
  encodeCommand,
  invocationIdCompletionIdOf,
  isCommand,
  isNotification,
  MessageType,
  notificationIdOf,
  resultCompletionIdOf,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";

export interface CheckedJournal {
  /** The replayed entries, without the stop. */
  readonly entries: readonly JournalEntry[];
  /** The replayed entries and the stop. */
  readonly guarded: readonly JournalEntry[];
  /** Number of commands in `entries`, which is the index of the stop. */
  readonly commands: readonly JournalEntry[];
  /** Entry of the journal in place of the stop: an Output, a Run without a result, or nothing. */
  readonly next: JournalEntry | undefined;
}

/** A command that completes nothing. No handler issues a command of this name. */
const STOP_NAME = "perdure: end of the checked journal";
const STOP: JournalEntry = {
  type: MessageType.CompleteAwakeable,
  body: encodeCommand({
    kind: "completeAwakeable",
    awakeableId: STOP_NAME,
    result: { kind: "value", value: new Uint8Array() },
    name: STOP_NAME,
  }),
  appendedAtMs: 0,
};

/** `stored` is a whole journal, Input first. Throws `ProtoError` when it cannot be decoded. */
export function checkedJournal(stored: readonly JournalEntry[]): CheckedJournal {
  const from = indexOfNext(stored);
  if (from < 0) return { entries: stored, guarded: [...stored, STOP], commands: stored.filter(isMade), next: undefined };
  const dropped = completionsOfCommands(stored, from);
  // Signals and results of earlier commands were stored when the handler continued from here, or have no effect.
  const laterNotifications = stored.slice(from).filter((entry) => isNotification(entry.type) && !isOneOf(dropped, entry));
  const before = stored.slice(0, from);
  return {
    entries: [...before, ...laterNotifications],
    guarded: [...before, STOP, ...laterNotifications],
    commands: before.filter(isMade),
    next: stored[from],
  };
}

/** A journal up to a command. */
export interface CutJournal extends CheckedJournal {
  /** Nothing of what could be replayed is left out. */
  readonly isEnd: boolean;
}

/**
 * The first `commandsMax` commands. Results of steps among them are replayed also when they were stored later: without them, the handler
 * would execute the steps. Throws `ProtoError` when the journal cannot be decoded.
 */
export function cutJournal(stored: readonly JournalEntry[], commandsMax: number): CutJournal {
  let count = 0;
  const from = stored.findIndex((entry) => isMade(entry) && ++count > Math.max(1, commandsMax));
  const whole = checkedJournal(stored);
  if (from < 0 || whole.commands.length <= commandsMax) return { ...whole, isEnd: true };
  const before = stored.slice(0, from);
  const runs = new Set<number>();
  for (const { type, body } of before) if (type === MessageType.Run) runs.add(resultCompletionIdOf(type, body) ?? 0);
  const later = stored.slice(from).filter((entry) => entry.type === MessageType.RunCompletion && isOneOf(runs, entry));
  return {
    entries: [...before, ...later],
    guarded: [...before, STOP, ...later],
    commands: before.filter(isMade),
    next: stored[from],
    isEnd: false,
  };
}

/** Index of the first command that must not be replayed; -1 when there is none. */
function indexOfNext(stored: readonly JournalEntry[]): number {
  const results = new Set<number>();
  for (const { type, body } of stored) {
    if (type !== MessageType.RunCompletion) continue;
    const id = notificationIdOf(type, body);
    if (id.kind === "completion") results.add(id.id);
  }
  return stored.findIndex(
    ({ type, body }) =>
      type === MessageType.Output || (type === MessageType.Run && !results.has(resultCompletionIdOf(type, body) ?? 0)),
  );
}

function completionsOfCommands(stored: readonly JournalEntry[], from: number): ReadonlySet<number> {
  const ids = new Set<number>();
  for (let index = from; index < stored.length; index++) {
    const { type, body } = stored[index]!;
    if (!isCommand(type)) continue;
    const result = resultCompletionIdOf(type, body);
    const callee = invocationIdCompletionIdOf(type, body);
    if (result !== undefined) ids.add(result);
    if (callee !== undefined) ids.add(callee);
  }
  return ids;
}

function isOneOf(ids: ReadonlySet<number>, { type, body }: JournalEntry): boolean {
  const id = notificationIdOf(type, body);
  return id.kind === "completion" && ids.has(id.id);
}

function isMade({ type }: JournalEntry): boolean {
  return isCommand(type);
}

/** Whether a command of the replayed journal still lacks its result: a handler may correctly wait there. */
export function lacksResult({ entries, commands }: CheckedJournal, index: number): boolean {
  const command = commands[index];
  if (command === undefined) return false;
  const result = resultCompletionIdOf(command.type, command.body);
  return result !== undefined && !entries.some((entry) => isNotification(entry.type) && isOneOf(new Set([result]), entry));
}
