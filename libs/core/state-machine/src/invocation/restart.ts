/**
 * Restarts an invocation as a new one: its journal up to an entry is copied, with the completions that the copied commands got later, so
 * that the new run continues from there. A restart copies completed invocations as they are; a fork also copies those in flight, and may
 * edit results. The source is never changed.
 */
import { invariant } from "@perdure/base";
import { MessageType, type NotificationId } from "@perdure/service-protocol";
import type { ForkEdits, RestartAsNew } from "../command.js";
import type { JournalEntry } from "../entry.js";
import type { Completed, InFlight, InvocationFacts, JournalProgress, Pinned, Scheduled } from "../invocation.js";
import { notificationFacts } from "../journal/append.js";
import { awaitedCompletionIds, randomSeedFor } from "../journal/completions.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { begin } from "./start.js";

type RestartSource = Completed | InFlight;

export function restartAsNew(view: PartitionView, command: RestartAsNew, out: Transition): void {
  // The command was repeated.
  if (view.invocation(command.newId) !== undefined) return out.effect({ kind: "reply", answer: { kind: "accepted" } });
  const source = view.invocation(command.id);
  if (source === undefined) return out.effect({ kind: "reply", answer: { kind: "notFound" } });
  if (source.status === "scheduled" || source.status === "inboxed")
    return out.effect({ kind: "reply", answer: { kind: "notStarted" } });
  if (source.status !== "completed" && command.fork === undefined)
    return out.effect({ kind: "reply", answer: { kind: "stillRunning" } });
  if (source.facts.target.serviceType === "workflow") {
    return out.effect({ kind: "reply", answer: { kind: "notRestartable", reason: "workflow" } });
  }
  if (source.journal.length === 0) return out.effect({ kind: "reply", answer: { kind: "journalGone" } });
  const read = (index: number): JournalEntry => {
    const entry = view.entry(source.facts.id, index);
    invariant(entry !== undefined, "a journal has no holes");
    return entry;
  };
  const copied = copyPrefix(read, source.journal.length, command, out.nowMs);
  if (copied === undefined) return out.effect({ kind: "reply", answer: { kind: "notRestartable", reason: "incompletePrefix" } });

  for (const [index, entry] of copied.entries()) out.mutate({ kind: "appendEntry", id: command.newId, index, entry });
  const fresh: Scheduled = {
    status: "scheduled",
    facts: restartedFacts(source, command, out.nowMs),
    modifiedAtMs: out.nowMs,
    run: 0,
    pinned: pinOf(source, command),
    journal: progressOf(copied),
    sinks: [],
    milestones: {
      scheduledAtMs: undefined,
      inboxedAtMs: undefined,
      runningAtMs: undefined,
      completedAtMs: undefined,
      moves: undefined,
    },
  };
  begin(view, fresh, copied, out);
  out.effect({ kind: "reply", answer: { kind: "accepted" } });
}

/**
 * Returns entries 0 … from, then the completions that a fork adds, then the later completions of the commands among them; undefined if one
 * lacks its completion.
 */
export function copyPrefix(
  stored: (index: number) => JournalEntry,
  length: number,
  { from, fork }: Pick<RestartAsNew, "from" | "fork">,
  nowMs: number,
): JournalEntry[] | undefined {
  if (from < 0 || from >= length) return undefined;
  const replaced = new Map(fork?.replaced.map(({ index, body }) => [index, body]));
  const read = (index: number): JournalEntry => {
    const entry = stored(index);
    const body = replaced.get(index);
    return body === undefined ? entry : { ...entry, body };
  };
  const copied: JournalEntry[] = [];
  const awaited = new Set<number>();
  for (let index = 0; index <= from; index++) {
    const entry = read(index);
    copied.push(entry);
    if (entry.type >= 0x8000) removeCompletion(awaited, notificationFacts(entry.type, entry.body).id);
    else for (const id of awaitedCompletionIds(entry)) awaited.add(id);
  }
  addCompletions(fork, awaited, copied, nowMs);
  for (let index = from + 1; index < length && awaited.size > 0; index++) {
    const entry = read(index);
    if (entry.type < 0x8000) continue;
    if (removeCompletion(awaited, notificationFacts(entry.type, entry.body).id)) copied.push(entry);
  }
  return awaited.size === 0 ? copied : undefined;
}

/** A completion that the journal has already is not added a second time. */
function addCompletions(fork: ForkEdits | undefined, awaited: Set<number>, copied: JournalEntry[], nowMs: number): void {
  for (const { type, body } of fork?.added ?? [])
    if (removeCompletion(awaited, notificationFacts(type, body).id)) copied.push({ type, body, appendedAtMs: nowMs });
}

function removeCompletion(awaited: Set<number>, id: NotificationId): boolean {
  return id.kind === "completion" && awaited.delete(id.id);
}

function restartedFacts(source: RestartSource, command: RestartAsNew, nowMs: number): InvocationFacts {
  const { facts } = source;
  return {
    id: command.newId,
    target: facts.target,
    source: { kind: "restart", from: facts.id },
    idempotencyKey: undefined,
    limitKey: facts.limitKey,
    priority: facts.priority,
    requestId: 0,
    createdAtMs: nowMs,
    executionTimeMs: undefined,
    completionRetentionMs: facts.completionRetentionMs,
    journalRetentionMs: facts.journalRetentionMs,
    randomSeed: command.from > 0 ? randomSeedFor(facts) : undefined,
    trace: facts.trace,
    fork: command.fork === undefined ? undefined : { atEntry: command.from, editedSteps: command.fork.editedSteps },
    event: facts.event,
    bytes: undefined,
  };
}

function pinOf(source: RestartSource, command: RestartAsNew): Pinned | undefined {
  const { pinned } = source;
  if (pinned === undefined || command.keepDeployment) return pinned;
  if (command.moveTo === undefined) return undefined;
  return { deploymentId: command.moveTo, protocolVersion: pinned.protocolVersion };
}

function progressOf(entries: readonly JournalEntry[]): JournalProgress {
  let commands = 0;
  let outputIndex = -1;
  for (const [index, entry] of entries.entries()) {
    if (entry.type >= 0x8000) continue;
    commands++;
    if (entry.type === MessageType.Output) outputIndex = index;
  }
  return { length: entries.length, commands, notifications: entries.length - commands, outputIndex, hasEvents: false };
}
