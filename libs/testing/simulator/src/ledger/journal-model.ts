/** Models journals for the checkers: which completions commands expect, and whether each came once and belongs there. */
import type { InvocationId } from "@perdure/base";
import { bytesEqual, toBinaryString } from "@perdure/base";
import {
  commandTypeOf,
  decodeCommand,
  decodeNotification,
  invocationIdCompletionIdOf,
  isCommand,
  isFault,
  type JournalCommand,
  MessageType,
  messageTypeName,
  resultCompletionIdOf,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { GenerationRecord } from "./generation-record.js";
import type { Ledger } from "./ledger.js";

/** The completion that each command expects under its result id. */
const COMPLETED_BY = new Map<number, number>([
  [MessageType.GetLazyState, MessageType.GetLazyStateCompletion],
  [MessageType.GetLazyStateKeys, MessageType.GetLazyStateKeysCompletion],
  [MessageType.GetPromise, MessageType.GetPromiseCompletion],
  [MessageType.PeekPromise, MessageType.PeekPromiseCompletion],
  [MessageType.CompletePromise, MessageType.CompletePromiseCompletion],
  [MessageType.Sleep, MessageType.SleepCompletion],
  [MessageType.Call, MessageType.CallCompletion],
  [MessageType.Run, MessageType.RunCompletion],
  [MessageType.AttachInvocation, MessageType.AttachInvocationCompletion],
  [MessageType.GetInvocationOutput, MessageType.GetInvocationOutputCompletion],
]);

/** Commands about an invocation that any caller may have started. */
const ATTACHING: ReadonlySet<number> = new Set([MessageType.AttachInvocation, MessageType.GetInvocationOutput]);

const PROMISE_COMPLETIONS: ReadonlySet<number> = new Set([
  MessageType.GetPromiseCompletion,
  MessageType.PeekPromiseCompletion,
  MessageType.CompletePromiseCompletion,
]);

export class JournalModel {
  readonly #findings: SimulationFindings;
  readonly #ledger: Ledger;
  /** Values that only one signal may carry: its sender, and which of the sender's commands it was. */
  readonly #signalValues = new Set<string>();

  constructor(findings: SimulationFindings, ledger: Ledger) {
    this.#findings = findings;
    this.#ledger = ledger;
  }

  /** `copied`: from the journal of another invocation, of which it is a restart. */
  journaled(generation: GenerationRecord, entry: JournalEntry, copied: boolean): void {
    generation.entries.push(entry);
    if (isCommand(entry.type)) this.#command(generation, entry, copied);
    else this.#notification(generation, entry, copied);
  }

  #command(generation: GenerationRecord, entry: JournalEntry, copied: boolean): void {
    const result = resultCompletionIdOf(entry.type, entry.body);
    if (!copied) this.#ledger.runs.command(generation, generation.commandCount++, entry);
    else generation.commandCount++;
    if (result !== undefined) this.#promiseCompletion(generation, result, entry, COMPLETED_BY.get(entry.type) ?? 0);
    if (result !== undefined && ATTACHING.has(entry.type)) this.#ledger.attachments.requested(generation, result);
    const calleeId = invocationIdCompletionIdOf(entry.type, entry.body);
    if (calleeId !== undefined) this.#promiseCompletion(generation, calleeId, entry, MessageType.CallInvocationIdCompletion);
    if (copied) return;
    const command = decodeCommand(entry.type, entry.body);
    if (isFault(command)) return this.#findings.report("a stored command can be read", `${generation.id}: ${command.detail}`);
    this.#demandState(generation, command);
    this.#ledger.signals.stored(generation, command);
  }

  #promiseCompletion(generation: GenerationRecord, id: number, entry: JournalEntry, notificationType: number): void {
    const { type: commandType } = entry;
    this.#findings.require(
      !generation.expectedCompletions.has(id),
      "a command is stored once",
      () => `${generation.id}: completion ${id} of ${messageTypeName(commandType)} again`,
    );
    generation.expectedCompletions.set(id, { commandType, notificationType, entry, completed: false });
  }

  #demandState(generation: GenerationRecord, command: JournalCommand): void {
    const { service, key = "" } = generation.facts.target;
    if (command.kind === "setState") this.#ledger.state.demand(service, key, toBinaryString(command.stateKey), command.value);
    else if (command.kind === "clearState") this.#ledger.state.demand(service, key, toBinaryString(command.stateKey), undefined);
    else if (command.kind === "clearAllState") {
      for (const stateKey of this.#ledger.state.of(service, key).keys())
        this.#ledger.state.demand(service, key, stateKey, undefined);
    }
  }

  #notification(generation: GenerationRecord, entry: JournalEntry, copied: boolean): void {
    const notification = decodeNotification(entry.type, entry.body);
    if (isFault(notification))
      return this.#findings.report("a stored notification can be read", `${generation.id}: ${notification.detail}`);
    const { id, result } = notification;
    if (id.kind !== "completion") {
      if (!copied && result.kind === "value") this.#signalled(generation, Buffer.from(result.value).toString());
      return;
    }
    const expected = generation.expectedCompletions.get(id.id);
    const fits = expected !== undefined && expected.notificationType === entry.type;
    const what = (): string => `${generation.id}: ${messageTypeName(entry.type)} ${id.id}`;
    this.#findings.require(fits, "a completion belongs to a command of this generation", what);
    if (expected === undefined) return;
    this.#findings.require(!expected.completed, "a command is completed once", what);
    expected.completed = true;
    if (copied) return;
    if (entry.type === MessageType.CallCompletion) this.#answersCall(generation, id.id, entry);
    if (ATTACHING.has(expected.entry.type)) this.#ledger.attachments.answered(generation, id.id, expected.entry, result);
    if (entry.type === MessageType.RunCompletion) this.#ledger.runs.runCompleted(generation, id.id, result);
    if (entry.type !== MessageType.SleepCompletion && !PROMISE_COMPLETIONS.has(entry.type)) return;
    const command = decodeCommand(expected.entry.type, expected.entry.body);
    if (isFault(command)) return;
    if (command.kind === "sleep") return this.#ledger.notBefore(command.wakeUpTimeMs, what);
    const { service, key } = generation.facts.target;
    this.#ledger.promises.answered(`${service}/${key}`, command, result);
  }

  /** The result of a call is the callee's outcome. */
  #answersCall(generation: GenerationRecord, completionId: number, entry: JournalEntry): void {
    const calleeId = generation.entries.map((each) => calleeOf(each, completionId - 1)).find((id) => id !== undefined);
    const callee = calleeId === undefined ? undefined : this.#ledger.latestGeneration(calleeId);
    const outcome = callee?.outcome;
    // There is no outcome to compare: it was not kept, cancelled before its start, or refused.
    if (callee === undefined || outcome === undefined) return;
    const decoded = decodeNotification(entry.type, entry.body);
    if (isFault(decoded)) return;
    const { result } = decoded;
    if (result.kind === "failure" && result.failure.message === "the workflow method was already invoked") return;
    const same =
      outcome.kind === "success"
        ? result.kind === "value" && bytesEqual(result.value, outcome.value)
        : result.kind === "failure" &&
          result.failure.message === outcome.failure.message &&
          result.failure.code === outcome.failure.code;
    // The caller may have received the end of a callee that was restored later.
    const isKilled = result.kind === "failure" && result.failure.message === "killed";
    this.#findings.require(
      same || callee.number > 0 || (callee.restoredCount > 0 && isKilled),
      "a caller gets its callee's outcome",
      () => `${generation.id} from ${calleeId}`,
    );
  }

  #signalled(generation: GenerationRecord, value: string): void {
    if (value.startsWith("outside")) return; // External clients may repeat their signals.
    const name = `${generation.id}/${generation.number} ${value}`;
    this.#findings.require(!this.#signalValues.has(name), "a signal arrives once", () => name);
    this.#signalValues.add(name);
  }

  dropped(generation: GenerationRecord, length: number): void {
    this.#findings.require(
      length === generation.entries.length,
      "a journal is dropped whole",
      () => `${generation.id}: ${length} of ${generation.entries.length}`,
    );
    generation.entries = [];
    const { status, facts } = generation.invocation;
    if (status === "scheduled" && facts.debounce !== undefined) {
      generation.rewrittenLength = length;
      generation.commandCount = 0;
    } else generation.journalDropped = true;
  }

  /** Checks that the record of an invocation and its journal agree at the end of each batch. */
  agrees(generation: GenerationRecord): void {
    const { id } = generation;
    const { journal } = generation.invocation;
    const commands = generation.entries.reduce((count, entry) => count + (isCommand(entry.type) ? 1 : 0), 0);
    const outputIndex = generation.entries.findLastIndex((entry) => entry.type === commandTypeOf.output);
    const agrees =
      journal.length === generation.entries.length &&
      journal.commands === commands &&
      journal.notifications === generation.entries.length - commands &&
      journal.outputIndex === outputIndex;
    this.#findings.require(
      agrees,
      "an invocation counts its journal right",
      () => `${id}: ${JSON.stringify(journal)} for ${generation.entries.length} entries`,
    );
    if (generation.invocation.status === "completed" || journal.length > 0) return;
    this.#findings.report("an invocation counts its journal right", `${id} has lost its journal`);
  }
}

/** Returns every invocation that it called or sent. */
export function calleesOf({ entries }: GenerationRecord): InvocationId[] {
  return entries.flatMap((entry) => calleeOf(entry, undefined) ?? []);
}

/** Returns every invocation that it called and whose result it has. */
export function completedCalleesOf({ entries, expectedCompletions }: GenerationRecord): ReadonlySet<InvocationId> {
  const ids = new Set<InvocationId>();
  for (const entry of entries) {
    const callee = calleeOf(entry, undefined);
    const notification = callee === undefined ? undefined : decodeNotification(entry.type, entry.body);
    if (callee === undefined || notification === undefined || isFault(notification) || notification.id.kind !== "completion")
      continue;
    // Programs number the result of a call after its id.
    if (expectedCompletions.get(notification.id.id + 1)?.completed === true) ids.add(callee);
  }
  return ids;
}

/** The callee's id, if the entry has it, under this completion id or any. */
function calleeOf(entry: JournalEntry, completionId: number | undefined): InvocationId | undefined {
  if (entry.type !== MessageType.CallInvocationIdCompletion) return undefined;
  const decoded = decodeNotification(entry.type, entry.body);
  if (isFault(decoded) || decoded.id.kind !== "completion") return undefined;
  if (completionId !== undefined && decoded.id.id !== completionId) return undefined;
  return decoded.result.kind === "invocationId" ? (decoded.result.invocationId as InvocationId) : undefined;
}
