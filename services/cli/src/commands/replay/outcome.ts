/** Where a replay ended, in comparison with the bundle. */
import type { BundleView } from "@perdure/admin-client";
import { fromUtf8 } from "@perdure/base";
import type { CommandLabel, StepEnd, StepReplayResult } from "@perdure/invoker";
import { futureToJson, MessageType, messageTypeName, type ValueOrFailure } from "@perdure/service-protocol";
import type { AttemptError } from "@perdure/state-machine";
import type { ExitCode } from "../../errors.js";
import { PREVIEW_CHARS_MAX, STACK_LINES_MAX } from "./limits.js";

/** The journal entry of each command of the bundle, by the number of the command. */
export function commandEntries(bundle: BundleView): readonly number[] {
  return bundle.journal.entries.filter(({ label }) => label.startsWith("Command: ")).map(({ index }) => index);
}

/** The handler requests another command than the journal has there. */
function isDifferent(end: StepEnd): boolean {
  if (end.kind !== "requests" || end.expected === undefined || end.command === undefined) return false;
  const { command, expected } = end;
  if (READS.has(command.type) && READS.has(expected.type)) return false;
  if (command.type !== expected.type) return true;
  // SDKs report labels of steps; for other commands some report what we do not store as a label.
  return command.type === messageTypeName(MessageType.Run) && command.name !== expected.name;
}

/** Whether a value of the state is in the first message depends on its size. */
const READS: ReadonlySet<string> = new Set(["GetEagerState", "GetLazyState"]);

export function exitCodeOf(end: StepEnd): ExitCode {
  if (end.kind === "failed") return 3;
  return end.kind === "mismatch" || isDifferent(end) || (end.kind === "returns" && end.isSame === false) ? 4 : 0;
}

/** Whether the replay ended like the invocation; undefined when the bundle has nothing to compare with. */
export function isAsInBundle(end: StepEnd, { error, invocation }: BundleView): boolean | undefined {
  switch (end.kind) {
    case "failed":
    case "mismatch":
      return error !== null && error.code === end.error.code && error.message === end.error.message;
    case "returns":
      return end.isSame ?? (invocation.outcome === null ? undefined : false);
    default:
      return error === null || error.restate_code === "" ? undefined : false;
  }
}

/** The sentence for users, and further lines below it. */
export function textOf(
  end: StepEnd,
  entries: readonly number[],
): { readonly sentence: string; readonly details: readonly string[] } {
  switch (end.kind) {
    case "failed":
      return { sentence: `The handler failed: ${errorText(end.error)}`, details: stackOf(end.error) };
    case "mismatch":
      return { sentence: mismatchText(end, entries), details: [errorText(end.error), ...stackOf(end.error)] };
    case "returns": {
      const same =
        end.isSame === undefined ? "" : end.isSame ? ", as in the journal" : ", which is not the Output of the journal";
      return { sentence: `The handler returns ${resultText(end.result)}${same}.`, details: [] };
    }
    case "waits":
      return { sentence: `The handler waits for ${awaitedText(end)}.`, details: [] };
    case "requests":
      return { sentence: requestText(end), details: [] };
  }
}

function mismatchText(
  { commandIndex, expected, actual }: Extract<StepEnd, { kind: "mismatch" }>,
  entries: readonly number[],
): string {
  const entry = commandIndex === undefined ? undefined : entries[commandIndex];
  const where = commandIndex === undefined ? "" : ` at command ${commandIndex}${entry === undefined ? "" : ` (entry ${entry})`}`;
  const journal = expected === undefined ? "" : `: the journal has ${labelText(expected)}`;
  const code = actual === undefined ? "" : `${journal === "" ? ":" : ", and"} the code does ${labelText(actual)}`;
  return `Code and journal differ${where}${journal}${code}.`;
}

function requestText(end: Extract<StepEnd, { kind: "requests" }>): string {
  const { command, expected } = end;
  const requested = command === undefined ? "a command" : labelText(command);
  if (isDifferent(end) && expected !== undefined)
    return `The handler requests ${requested}, where the journal has ${labelText(expected)}.`;
  if (command?.type === messageTypeName(MessageType.Run)) return `The handler is about to execute the step ${nameText(command)}.`;
  const place =
    expected === undefined ? "; the journal has no further entry, and nothing was carried out" : ", as in the journal";
  return `The handler requests ${requested}${place}.`;
}

/** What `--run-steps` would do from here on; undefined when it would change nothing. */
export function runStepsText({ end, canContinue }: StepReplayResult): string | undefined {
  if (!canContinue || end.kind !== "requests") return undefined;
  return end.command?.type === messageTypeName(MessageType.Run)
    ? "Its result is not in the bundle. --run-steps executes it on this machine, with all that it does."
    : "--run-steps continues from here, and executes steps that follow on this machine, with all that they do.";
}

function awaitedText({ awaiting }: Extract<StepEnd, { kind: "waits" }>): string {
  return awaiting === undefined ? "something" : `what the bundle does not have: ${JSON.stringify(futureToJson(awaiting))}`;
}

function labelText(label: CommandLabel): string {
  return label.name === undefined ? label.type : `${label.type} ${nameText(label)}`;
}

function nameText({ name }: CommandLabel): string {
  return name === undefined ? "without a name" : `'${name}'`;
}

export function resultText(result: ValueOrFailure): string {
  if (result.kind === "failure") return `the failure ${result.failure.code} ${result.failure.message}`;
  const text = fromUtf8(result.value);
  return text === "" ? "nothing" : text.length > PREVIEW_CHARS_MAX ? `${text.slice(0, PREVIEW_CHARS_MAX)}…` : text;
}

function errorText({ errorCode, message }: AttemptError): string {
  return `${errorCode} ${message}`;
}

function stackOf({ stacktrace, message }: AttemptError): readonly string[] {
  const lines = (stacktrace ?? "").split("\n").filter((line) => line.trim() !== "" && line.trim() !== message);
  return lines.length > STACK_LINES_MAX ? [...lines.slice(0, STACK_LINES_MAX), "  …"] : lines;
}
