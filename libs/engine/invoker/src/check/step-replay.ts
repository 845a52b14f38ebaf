/**
 * Replays the beginning of a journal on an endpoint, for a debugger: the handler executes up to a command, and the result is what it
 * requests next. Nothing is stored, and nothing is carried out. A step whose result the journal does not have is executed only on request,
 * and so are steps behind a read or write of state that the journal does not have: handlers do not wait there.
 */
import type { DeploymentView } from "@perdure/control";
import {
  decodeCommand,
  decodeNotification,
  type Future,
  isFault,
  isNotification,
  type JournalCommand,
  MessageType,
  messageTypeName,
  outputResultOf,
  type ProtocolVersion,
  type ValueOrFailure,
} from "@perdure/service-protocol";
import type { AttemptError, JournalEntry } from "@perdure/state-machine";
import { type CheckedJournal, type CutJournal, cutJournal } from "./checked-journal.js";
import { actualOf, type CommandLabel, isAwait, isSameResult, isWait, labelOf } from "./evaluate.js";
import { type ReplayEnd, STATE_COMMANDS } from "./replay-stream.js";
import { type ReplayCheckDeps, type ReplayCheckOptions, type ReplaySubject, sendReplay } from "./send-replay.js";

/** A step that was executed because the journal has no result of it. */
export interface ExecutedStep {
  readonly name: string;
  readonly result: ValueOrFailure;
}

/** Where the handler stands after the replayed commands. */
export type StepEnd =
  /** It requests a command. `expected`: the command of the journal at this place; undefined at the end of the journal. */
  | { readonly kind: "requests"; readonly command: CommandLabel | undefined; readonly expected: CommandLabel | undefined }
  /** It returns; `isSame`: what the journal has as Output, undefined when it has none. */
  | { readonly kind: "returns"; readonly result: ValueOrFailure; readonly isSame: boolean | undefined }
  /** It waits for results that the replayed part of the journal does not have. */
  | { readonly kind: "waits"; readonly awaiting: Future | undefined }
  /** Code and journal differ: at this command the journal has `expected` and the code does `actual`. */
  | {
      readonly kind: "mismatch";
      readonly commandIndex: number | undefined;
      readonly expected: CommandLabel | undefined;
      readonly actual: CommandLabel | undefined;
      readonly error: AttemptError;
    }
  | { readonly kind: "failed"; readonly error: AttemptError };

export interface StepReplayResult {
  readonly end: StepEnd;
  /** Number of commands that were replayed, Input included. */
  readonly commands: number;
  /** Nothing of the journal that can be replayed was left out. */
  readonly isEnd: boolean;
  /** A replay that executes steps continues from here. */
  readonly canContinue: boolean;
  readonly executed: readonly ExecutedStep[];
}

export interface StepReplay {
  /**
   * Replays `commands` commands of the journal, at least the Input; more than there are: all of them. Never rejects for a failure of the
   * endpoint; throws `ProtoError` when the journal cannot be decoded.
   */
  replay(
    candidate: DeploymentView,
    subject: ReplaySubject & { readonly version: ProtocolVersion },
    choice: { readonly commands: number; readonly executesSteps: boolean },
    signal: AbortSignal,
  ): Promise<StepReplayResult>;
}

/** Replays have no time limit: the handler may stand in a debugger. */
export function createStepReplay(deps: ReplayCheckDeps, options: ReplayCheckOptions): StepReplay {
  return {
    async replay(candidate, subject, { commands, executesSteps }, signal) {
      const sent = { candidate, subject, timeoutMs: Number.POSITIVE_INFINITY, isMarked: false };
      const executed: ExecutedStep[] = [];
      let stored = subject.entries;
      for (let commandsMax = commands; ; commandsMax = Number.POSITIVE_INFINITY) {
        const journal = cutJournal(stored, commandsMax);
        const guarded = await sendReplay(deps, options, { ...sent, entries: journal.guarded }, signal);
        const reached = endOfGuarded(journal, guarded);
        const count = journal.commands.length;
        const canContinue = reached !== "again" && continuesWithSteps(journal, reached);
        if (reached !== "again" && !(executesSteps && canContinue))
          return { end: reached, commands: count, isEnd: journal.isEnd, canContinue, executed };
        const steps: JournalEntry[] = [];
        const onStep = executesSteps && reached !== "again" ? (entry: JournalEntry) => void steps.push(entry) : undefined;
        // A stored Run without a result is replayed, so that the code is compared with it before it executes the step.
        const isStored = onStep !== undefined && journal.next?.type === MessageType.Run;
        const entries = isStored && journal.next !== undefined ? [...journal.entries, journal.next] : journal.entries;
        const plain = await sendReplay(deps, options, { ...sent, entries, onStep }, signal);
        const results = resultsOf(entries, steps);
        executed.push(...results);
        if (results.length === 0 || plain.kind !== "suspended") {
          return { end: endOfPlain(journal, plain), commands: count, isEnd: journal.isEnd, canContinue: false, executed };
        }
        stored = [...entries, ...steps];
      }
    },
  };
}

/** `again`: only a replay without the stop shows where the handler stands. */
function endOfGuarded(journal: CheckedJournal, end: ReplayEnd): StepEnd | "again" {
  if (end.kind !== "mismatch") return endOfPlain(journal, end);
  const { error } = end;
  const index = error.relatedCommandIndex;
  const actual = actualOf(error);
  if (index === journal.commands.length && !isAwait(error)) {
    if (actual?.type === messageTypeName(MessageType.Output)) return "again";
    return { kind: "requests", command: actual, expected: labelOf(journal.next) };
  }
  if (index !== undefined && index < journal.commands.length && !isWait(journal, index, actual, error)) {
    return { kind: "mismatch", commandIndex: index, expected: labelOf(journal.commands[index]), actual, error };
  }
  // The step behind the stop would be executed by a replay without it.
  if (journal.next?.type !== MessageType.Run) return "again";
  return { kind: "mismatch", commandIndex: journal.commands.length, expected: labelOf(journal.next), actual: undefined, error };
}

function endOfPlain(journal: CheckedJournal, end: ReplayEnd): StepEnd {
  switch (end.kind) {
    case "wentOn":
      return endOfCommand(journal, end.command);
    case "suspended":
      return { kind: "waits", awaiting: end.awaitingOn };
    case "ended":
      return { kind: "waits", awaiting: undefined };
    case "failed":
      return end;
    case "mismatch": {
      const { error } = end;
      const index = error.relatedCommandIndex;
      const expected = index === undefined ? undefined : labelOf(journal.commands[index] ?? journal.next);
      return { kind: "mismatch", commandIndex: index, expected, actual: actualOf(error), error };
    }
  }
}

function endOfCommand({ next }: CheckedJournal, command: JournalCommand | undefined): StepEnd {
  if (command?.kind === "output") {
    const isSame = next?.type === MessageType.Output ? isSameResult(outputResultOf(next.body), command.result) : undefined;
    return { kind: "returns", result: command.result, isSame };
  }
  const type =
    command === undefined ? messageTypeName(MessageType.Run) : `${command.kind[0]?.toUpperCase()}${command.kind.slice(1)}`;
  const name = command === undefined || command.name === "" ? undefined : command.name;
  return { kind: "requests", command: { type, name }, expected: labelOf(next) };
}

const RUN = messageTypeName(MessageType.Run);
const CONTINUES: ReadonlySet<string> = new Set([RUN, ...[...STATE_COMMANDS].map((type) => messageTypeName(type))]);

/** The handler is about to execute a step of which the journal has no result, or to read or write state behind the end of the journal. */
function continuesWithSteps({ next, isEnd }: CutJournal, end: StepEnd): boolean {
  if (!isEnd || end.kind !== "requests" || end.command === undefined) return false;
  if (next === undefined) return CONTINUES.has(end.command.type);
  return next.type === MessageType.Run && end.command.type === RUN && end.command.name === end.expected?.name;
}

/** The steps of a replayed journal whose results are among `executed`. */
function resultsOf(entries: readonly JournalEntry[], executed: readonly JournalEntry[]): readonly ExecutedStep[] {
  const names = new Map<number, string>();
  for (const { type, body } of [...entries, ...executed]) {
    const run = type === MessageType.Run ? decodeCommand(type, body) : undefined;
    if (run !== undefined && !isFault(run) && run.kind === "run") names.set(run.resultCompletionId, run.name);
  }
  return executed.flatMap(({ type, body }) => {
    const completion = isNotification(type) ? decodeNotification(type, body) : undefined;
    if (completion === undefined || isFault(completion) || completion.id.kind !== "completion") return [];
    const { result } = completion;
    if (result.kind !== "value" && result.kind !== "failure") return [];
    return [{ name: names.get(completion.id.id) ?? "", result }];
  });
}
