/**
 * Restarts a completed invocation as a new one: its journal up to an entry is copied, with the completions that the copied commands got
 * later, so that the new run continues from there.
 */
import { invariant } from "@perdure/base";
import { MessageType, type NotificationId } from "@perdure/service-protocol";
import type { RestartAsNew } from "../command.js";
import type { JournalEntry } from "../entry.js";
import type { Completed, InvocationFacts, JournalProgress, Pinned, Scheduled } from "../invocation.js";
import { notificationFacts } from "../journal/append.js";
import { awaitedCompletionIds, randomSeedFor } from "../journal/completions.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { begin } from "./start.js";

export function restartAsNew(view: PartitionView, command: RestartAsNew, out: Transition): void {
  // The command was repeated.
  if (view.invocation(command.newId) !== undefined) return out.effect({ kind: "reply", answer: { kind: "accepted" } });
  const source = view.invocation(command.id);
  if (source === undefined) return out.effect({ kind: "reply", answer: { kind: "notFound" } });
  if (source.status === "scheduled" || source.status === "inboxed")
    return out.effect({ kind: "reply", answer: { kind: "notStarted" } });
  if (source.status !== "completed") return out.effect({ kind: "reply", answer: { kind: "stillRunning" } });
  if (source.facts.target.serviceType === "workflow") {
    return out.effect({ kind: "reply", answer: { kind: "notRestartable", reason: "workflow" } });
  }
  if (source.journal.length === 0) return out.effect({ kind: "reply", answer: { kind: "journalGone" } });
  const copied = copyPrefix(view, source, command.from);
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

/** Returns entries 0 … from, then the later completions of the commands among them; undefined if one lacks its completion. */
function copyPrefix(view: PartitionView, source: Completed, from: number): JournalEntry[] | undefined {
  const { length } = source.journal;
  if (from < 0 || from >= length) return undefined;
  const read = (index: number): JournalEntry => {
    const entry = view.entry(source.facts.id, index);
    invariant(entry !== undefined, "a journal has no holes");
    return entry;
  };
  const copied: JournalEntry[] = [];
  const awaited = new Set<number>();
  for (let index = 0; index <= from; index++) {
    const entry = read(index);
    copied.push(entry);
    if (entry.type >= 0x8000) removeCompletion(awaited, notificationFacts(entry.type, entry.body).id);
    else for (const id of awaitedCompletionIds(entry)) awaited.add(id);
  }
  for (let index = from + 1; index < length && awaited.size > 0; index++) {
    const entry = read(index);
    if (entry.type < 0x8000) continue;
    if (removeCompletion(awaited, notificationFacts(entry.type, entry.body).id)) copied.push(entry);
  }
  return awaited.size === 0 ? copied : undefined;
}

function removeCompletion(awaited: Set<number>, id: NotificationId): boolean {
  return id.kind === "completion" && awaited.delete(id.id);
}

function restartedFacts(source: Completed, command: RestartAsNew, nowMs: number): InvocationFacts {
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
    bytes: undefined,
  };
}

function pinOf(source: Completed, command: RestartAsNew): Pinned | undefined {
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
