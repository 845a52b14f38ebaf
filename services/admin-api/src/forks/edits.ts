/**
 * Converts edits of steps, which clients name by journal index, to edits of stored entries. An edit that does not fit the type of its
 * entry is refused with the reason.
 */
import { fromUtf8Strict, utf8 } from "@perdure/base";
import {
  cancelSignalIndex,
  decodeCommand,
  decodeNotification,
  encodeCommand,
  encodeCompletion,
  encodeNotification,
  type Failure,
  isCommand,
  isFault,
  type JournalCommand,
  journalCommandName,
  type NotificationResult,
  notificationIdOf,
} from "@perdure/service-protocol";
import type { ForkEdits, JournalEntry } from "@perdure/state-machine";

export type EditedResult =
  | { readonly kind: "value"; readonly value: Uint8Array }
  | { readonly kind: "failure"; readonly failure: Failure }
  | { readonly kind: "void" };

/** `step` is the journal index of the step, as the timeline shows it. */
export interface StepEdit {
  readonly step: number;
  readonly result: EditedResult;
}

export type ForkEditsOutcome =
  | { readonly ok: true; readonly edits: ForkEdits }
  | { readonly ok: false; readonly problem: string };

type ReplacedEntry = ForkEdits["replaced"][number];
type AddedEntry = ForkEdits["added"][number];
type EditedEntry = { readonly replaced: ReplacedEntry } | { readonly added: AddedEntry } | { readonly problem: string };

/** The edits of a fork that keeps the entries up to index `at` of this journal. */
export function forkEditsOf(entries: readonly JournalEntry[], at: number, edits: readonly StepEdit[]): ForkEditsOutcome {
  const replaced: ReplacedEntry[] = [];
  const added: AddedEntry[] = [];
  const editedSteps = edits.map(({ step }) => step).sort((a, b) => a - b);
  const twice = editedSteps.find((step, n) => step === editedSteps[n + 1]);
  if (twice !== undefined) return { ok: false, problem: `Entry ${twice} is edited twice.` };
  const completionIndexes = completionsOf(entries);
  for (const { step, result } of edits) {
    const entry = entries[step];
    if (entry === undefined)
      return { ok: false, problem: `There is no entry ${step}: the journal ends with ${entries.length - 1}.` };
    if (step > at) return { ok: false, problem: `Entry ${step} is not kept: the fork keeps the entries up to ${at}.` };
    const edited = isCommand(entry.type)
      ? editedCommand(entry, step, result, completionIndexes)
      : editedNotification(entries, entry, step, result);
    if ("problem" in edited) return { ok: false, problem: `Entry ${step} (${titleOf(entry)}) ${edited.problem}` };
    if ("replaced" in edited) replaced.push(edited.replaced);
    else added.push(edited.added);
  }
  return { ok: true, edits: { editedSteps, replaced, added } };
}

/** The first command up to index `at` whose result is not in the journal, as text; undefined when every result is. */
export function firstPendingStep(entries: readonly JournalEntry[], at: number): string | undefined {
  const completionIndexes = completionsOf(entries);
  for (const [index, entry] of entries.slice(0, at + 1).entries()) {
    if (!isCommand(entry.type)) continue;
    const command = decodeCommand(entry.type, entry.body);
    if (isFault(command) || !("resultCompletionId" in command)) continue;
    if (!completionIndexes.has(command.resultCompletionId)) return `entry ${index} (${titleOf(entry)})`;
  }
  return undefined;
}

/** Journal indexes of completions, by completion id. */
function completionsOf(entries: readonly JournalEntry[]): ReadonlyMap<number, number> {
  const indexes = new Map<number, number>();
  for (const [index, { type, body }] of entries.entries()) {
    if (isCommand(type)) continue;
    const id = notificationIdOf(type, body);
    if (id.kind === "completion") indexes.set(id.id, index);
  }
  return indexes;
}

function titleOf({ type, body }: JournalEntry): string {
  const command = isCommand(type) ? decodeCommand(type, body) : undefined;
  const name = command === undefined || isFault(command) || command.name === "" ? "" : ` '${command.name}'`;
  return `${journalCommandName(type)}${name}`;
}

// ── signals ──────────────────────────────────────────────────────────────────────────────────────

function editedNotification(
  entries: readonly JournalEntry[],
  { type, body }: JournalEntry,
  step: number,
  result: EditedResult,
): EditedEntry {
  const decoded = decodeNotification(type, body);
  if (isFault(decoded)) return { problem: "cannot be decoded." };
  const { id } = decoded;
  if (id.kind === "completion") {
    const owner = entries.findIndex((entry) => isCommand(entry.type) && resultIdOf(entry) === id.id);
    return { problem: owner < 0 ? "is not a step." : `is the result of entry ${owner}: name that entry.` };
  }
  if (id.kind === "signalIndex" && id.index === cancelSignalIndex) return { problem: "is a cancellation and has no result." };
  return { replaced: { index: step, body: encodeNotification(id, result) } };
}

function resultIdOf({ type, body }: JournalEntry): number | undefined {
  const command = decodeCommand(type, body);
  return !isFault(command) && "resultCompletionId" in command ? command.resultCompletionId : undefined;
}

// ── commands ─────────────────────────────────────────────────────────────────────────────────────

const NO_RESULT = "has no result that could be edited.";

function editedCommand(
  entry: JournalEntry,
  step: number,
  result: EditedResult,
  completionIndexes: ReadonlyMap<number, number>,
): EditedEntry {
  const command = decodeCommand(entry.type, entry.body);
  if (isFault(command)) return { problem: "cannot be decoded." };
  if (!("resultCompletionId" in command)) return editedOwnResult(command, step, result);
  const fitting = fittingResult(command.kind, result);
  if ("problem" in fitting) return fitting;
  const body = encodeCompletion(command.resultCompletionId, fitting.result);
  const index = completionIndexes.get(command.resultCompletionId);
  if (index !== undefined) return { replaced: { index, body } };
  // The type of a completion repeats the low byte of its command.
  return { added: { type: COMPLETION_TYPES | (entry.type & 0xff), body } };
}

const COMPLETION_TYPES = 0x8000;

/** Commands that contain their result themselves. */
function editedOwnResult(command: JournalCommand, step: number, result: EditedResult): EditedEntry {
  switch (command.kind) {
    case "input":
      if (result.kind !== "value") return { problem: "is the input: it can only be another value." };
      return { replaced: { index: step, body: encodeCommand({ ...command, value: result.value }) } };
    case "getEagerState":
      if (result.kind === "failure") return { problem: "reads state, which cannot fail." };
      return { replaced: { index: step, body: encodeCommand({ ...command, result }) } };
    case "getEagerStateKeys": {
      const stateKeys = stateKeysOf(result);
      if (stateKeys === undefined) return { problem: NOT_KEYS };
      return { replaced: { index: step, body: encodeCommand({ ...command, stateKeys }) } };
    }
    default:
      return { problem: NO_RESULT };
  }
}

type WithCompletion = Extract<JournalCommand, { resultCompletionId: number }>["kind"];
type Allowed = readonly EditedResult["kind"][];

const NOT_KEYS = "lists the keys of a state: write a JSON array of strings.";
const ALLOWED: Readonly<Record<Exclude<WithCompletion, "getLazyStateKeys">, { readonly kinds: Allowed; readonly why: string }>> =
  {
    run: { kinds: ["value", "failure"], why: "ends with a value or a failure." },
    call: { kinds: ["value", "failure"], why: "ends with a value or a failure." },
    attachInvocation: { kinds: ["value", "failure"], why: "ends with a value or a failure." },
    getPromise: { kinds: ["value", "failure"], why: "ends with a value or a failure." },
    getInvocationOutput: { kinds: ["void", "value", "failure"], why: "" },
    peekPromise: { kinds: ["void", "value", "failure"], why: "" },
    getLazyState: { kinds: ["void", "value"], why: "reads state, which cannot fail." },
    completePromise: { kinds: ["void", "failure"], why: "completes a promise: it succeeds without a value, or fails." },
    sleep: { kinds: ["void"], why: "is a sleep: it only ends, without a value." },
  };

function fittingResult(
  kind: WithCompletion,
  result: EditedResult,
): { readonly result: NotificationResult } | { readonly problem: string } {
  if (kind === "getLazyStateKeys") {
    const stateKeys = stateKeysOf(result);
    return stateKeys === undefined ? { problem: NOT_KEYS } : { result: { kind: "stateKeys", stateKeys } };
  }
  const { kinds, why } = ALLOWED[kind];
  return kinds.includes(result.kind) ? { result } : { problem: why };
}

function stateKeysOf(result: EditedResult): readonly Uint8Array[] | undefined {
  if (result.kind !== "value") return undefined;
  try {
    const keys: unknown = JSON.parse(fromUtf8Strict(result.value) ?? "");
    return Array.isArray(keys) && keys.every((key) => typeof key === "string") ? keys.map((key) => utf8(key)) : undefined;
  } catch {
    return undefined; // No JSON.
  }
}
