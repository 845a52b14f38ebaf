/**
 * Checks what must hold of a partition's rows after every commit. Simulation checks all of it after steps; an operator can check a
 * store that may be damaged. Rules across partitions (which invocation waits for which) are not here: one partition does not have the
 * data.
 */
import type { InvocationId } from "@perdure/base";
import {
  decodeCommand,
  evaluateFuture,
  isCommand,
  isEmptyFuture,
  isFault,
  type LeafOutcome,
  MessageType,
  type NotificationId,
  notificationIdOf,
  notificationOutcomeOf,
} from "@perdure/service-protocol";
import type { PartitionCommand, TimerKey } from "./command.js";
import type { JournalEntry } from "./entry.js";
import { isThrottleTimer } from "./invocation/throttle.js";
import type { Completed, Invocation, Scheduled } from "./invocation.js";
import { isInFlight } from "./invocation.js";
import type { InboxEntry, ObjectLock, QueuePause, WorkflowPromise } from "./mutation.js";
import { type StateExpiry, stateTimer } from "./state/expiry.js";
import { isExclusive, isSlotted, keyspaceOf, targetText } from "./target.js";

/** All rows of a partition as of one moment. */
export interface PartitionSnapshot {
  readonly invocations: readonly Invocation[];
  /** Rows of a journal by index, missing ones as undefined; at least as long as the invocation's row requires. */
  readonly journals: ReadonlyMap<InvocationId, readonly (JournalEntry | undefined)[]>;
  readonly locks: readonly { readonly service: string; readonly key: string; readonly lock: ObjectLock }[];
  readonly inboxes: readonly {
    readonly service: string;
    readonly key: string;
    readonly seq: number;
    readonly entry: InboxEntry;
  }[];
  readonly promises: readonly {
    readonly service: string;
    readonly key: string;
    readonly name: string;
    readonly promise: WorkflowPromise;
  }[];
  readonly timers: readonly TimerKey[];
  /** Objects whose state expires; those without one are not checked. */
  readonly expiries?: readonly StateExpiry[];
  /** The stored number of throttle keys: one row, or none without keys; undefined: not checked. */
  readonly throttleKeyCounts?: readonly number[];
  /** The stored pauses of queues. */
  readonly pauses: readonly QueuePause[];
  /** Messages of the partition to itself that are still in transit; none by default. */
  readonly pendingCommands?: readonly PartitionCommand[];
  /**
   * Invocations of which a row was written since all rules held; all by default. The rules of an invocation that is scheduled or completed
   * depend only on its own rows, so it is not checked again until one of them is written.
   */
  readonly changedIds?: ReadonlySet<InvocationId>;
}

/** Returns one sentence for each violated rule, with the row that violates it; empty when all rules hold. */
export function brokenInvariants(snapshot: PartitionSnapshot): readonly string[] {
  const check = new Check(snapshot);
  for (const invocation of snapshot.invocations)
    if (check.isAffected(invocation.facts.id, invocation)) checkInvocation(check, invocation);
  for (const { service, key, lock } of snapshot.locks) checkLock(check, service, key, lock);
  for (const { service, key, seq, entry } of snapshot.inboxes) checkInboxEntry(check, service, key, seq, entry);
  for (const timer of check.timers) checkTimer(check, timer);
  if (snapshot.expiries !== undefined) checkExpiries(check, snapshot.timers, snapshot.expiries);
  if (snapshot.throttleKeyCounts !== undefined) checkThrottleKeys(check, snapshot.timers, snapshot.throttleKeyCounts);
  return check.broken;
}

/** The snapshot indexed for look-ups, and the violations. */
class Check {
  readonly broken: string[] = [];
  readonly invocations: ReadonlyMap<InvocationId, Invocation>;
  readonly #snapshot: PartitionSnapshot;
  readonly #locks: ReadonlyMap<string, ObjectLock>;
  readonly #inboxes: ReadonlyMap<string, InboxEntry>;
  readonly #promises: ReadonlyMap<string, WorkflowPromise>;
  /** Timers of the invocations that are checked. */
  readonly timers: readonly TimerKey[];
  readonly #timerTexts: ReadonlySet<string>;

  constructor(snapshot: PartitionSnapshot) {
    this.#snapshot = snapshot;
    this.invocations = new Map(snapshot.invocations.map((each) => [each.facts.id, each]));
    this.#locks = new Map(snapshot.locks.map((row) => [`${row.service}/${row.key}`, row.lock]));
    this.#inboxes = new Map(snapshot.inboxes.map((row) => [`${row.seq}/${row.service}/${row.key}`, row.entry]));
    this.#promises = new Map(
      snapshot.promises.map((row) => [`${row.service}/${row.key.length}:${row.key}/${row.name}`, row.promise]),
    );
    this.timers = snapshot.timers.filter(({ id }) => this.isAffected(id, this.invocations.get(id)));
    this.#timerTexts = new Set(this.timers.map(timerText));
  }

  /** Whether a rule of the invocation may be violated that held at the last check. */
  isAffected(id: InvocationId, invocation: Invocation | undefined): boolean {
    const { changedIds } = this.#snapshot;
    if (changedIds === undefined || changedIds.has(id)) return true;
    return invocation !== undefined && invocation.status !== "completed" && invocation.status !== "scheduled";
  }

  that(holds: boolean, otherwise: () => string): void {
    if (!holds) this.broken.push(otherwise());
  }

  journal(id: InvocationId): readonly (JournalEntry | undefined)[] {
    return this.#snapshot.journals.get(id) ?? [];
  }
  lock(service: string, key: string): ObjectLock | undefined {
    return this.#locks.get(`${service}/${key}`);
  }
  inbox(service: string, key: string, seq: number): InboxEntry | undefined {
    return this.#inboxes.get(`${seq}/${service}/${key}`);
  }
  promise(service: string, key: string, name: string): WorkflowPromise | undefined {
    return this.#promises.get(`${service}/${key.length}:${key}/${name}`);
  }
  isHeldBack(service: string, key: string): boolean {
    return this.#snapshot.pauses.some(({ lock }) => lock?.service === service && lock.key === key);
  }
  hasTimer(timer: TimerKey): boolean {
    return this.#timerTexts.has(timerText(timer));
  }
  isOnItsWay(to: InvocationId, completionId: number): boolean {
    return (this.#snapshot.pendingCommands ?? []).some((message) => {
      if (message.kind !== "notify" || message.id !== to) return false;
      const answered = notificationIdOf(message.type, message.body);
      return answered.kind === "completion" && answered.id === completionId;
    });
  }
}

function checkInvocation(check: Check, invocation: Invocation): void {
  const { id, target } = invocation.facts;
  checkJournal(check, invocation);
  check.that(
    invocation.status !== "completed" || invocation.sinks.length === 0,
    () => `${id} is completed, but has callers that were not notified`,
  );
  check.that(!isInFlight(invocation) || invocation.run > 0, () => `${id} is ${invocation.status} without ever having run`);
  if (isInFlight(invocation)) {
    if (isExclusive(target)) {
      const holder = check.lock(keyspaceOf(target), target.key)?.holder;
      check.that(holder === id, () => `${id} is ${invocation.status}, but ${targetText(target)} is held by ${holder}`);
    }
    checkPendingCompletions(check, invocation);
  }
  switch (invocation.status) {
    case "scheduled":
      return checkScheduled(check, invocation);
    case "inboxed": {
      if (invocation.waitsFor === "slot") {
        return checkSlotted(check, invocation);
      }
      const entry = isExclusive(target) ? check.inbox(keyspaceOf(target), target.key, invocation.inboxSeq) : undefined;
      check.that(
        entry?.kind === "invocation" && entry.id === id,
        () => `${id} waits for ${targetText(target)}, but not in its inbox`,
      );
      return;
    }
    case "ready":
      return checkSlotted(check, invocation);
    case "suspended":
      return checkSuspended(check, invocation);
    case "completed":
      return checkCompleted(check, invocation);
    case "invoked":
    case "paused":
      return;
  }
}

/** Checks that only invocations of a scope wait for slots, and that none of them holds a lock meanwhile. */
function checkSlotted(check: Check, { facts: { id, target } }: Invocation): void {
  check.that(isSlotted(target), () => `${id} waits for a slot, which ${targetText(target)} does not need`);
}

function checkScheduled(check: Check, { facts }: Scheduled): void {
  const timer: TimerKey = { dueAtMs: facts.executionTimeMs ?? 0, kind: "start", id: facts.id, sequence: 0 };
  check.that(check.hasTimer(timer), () => `${facts.id} is scheduled, but has no timer that starts it`);
}

function checkCompleted(check: Check, { facts, milestones, journal }: Completed): void {
  const { id, completionRetentionMs, journalRetentionMs } = facts;
  const at = milestones.completedAtMs ?? 0;
  const purged = check.hasTimer({ dueAtMs: at + completionRetentionMs, kind: "purge", id, sequence: 0 });
  check.that(purged, () => `${id} is completed, but has no timer that deletes it`);
  if (journal.length === 0 || journalRetentionMs >= completionRetentionMs) return;
  const dropped = check.hasTimer({ dueAtMs: at + journalRetentionMs, kind: "purgeJournal", id, sequence: 0 });
  check.that(dropped, () => `${id} keeps a journal, but has no timer that deletes it`);
}

/** A journal is dense from index 0, which is the Input, and its counters are right. */
function checkJournal(check: Check, { facts: { id }, journal, status }: Invocation): void {
  const entries = check.journal(id);
  let commands = 0;
  let outputIndex = -1;
  for (let index = 0; index < journal.length; index++) {
    const entry = entries[index];
    check.that(entry !== undefined, () => `the journal of ${id} lacks entry ${index}`);
    if (entry === undefined || !isCommand(entry.type)) continue;
    commands++;
    if (entry.type === MessageType.Output) outputIndex = index;
    check.that((index === 0) === (entry.type === MessageType.Input), () => `the journal of ${id} has its Input at ${index}`);
  }
  check.that(entries.length <= journal.length, () => `the journal of ${id} continues behind its end`);
  check.that(journal.length > 0 || status === "completed", () => `${id} is ${status} without a journal`);
  const counted =
    journal.commands === commands && journal.notifications === journal.length - commands && journal.outputIndex === outputIndex;
  check.that(counted, () => `${id} counts ${commands} commands and Output ${outputIndex} as ${JSON.stringify(journal)}`);
}

/** Nothing that it awaits is stored: otherwise it would run. */
function checkSuspended(check: Check, invocation: Invocation & { status: "suspended" }): void {
  const { id } = invocation.facts;
  const outcomes = new Map<string, LeafOutcome>();
  for (const entry of check.journal(id)) {
    if (entry === undefined || isCommand(entry.type)) continue;
    const arrived = idText(notificationIdOf(entry.type, entry.body));
    if (!outcomes.has(arrived)) outcomes.set(arrived, notificationOutcomeOf(entry.body)); // Of two signals with one id the first counts.
  }
  check.that(!isEmptyFuture(invocation.awaiting), () => `${id} waits for nothing`);
  const evaluated = evaluateFuture(invocation.awaiting, (leaf) => outcomes.get(idText(leaf)));
  check.that(evaluated.kind === "pending", () => `${id} stays suspended although its notification is stored`);
}

/** Whatever its own commands wait for in this partition is pending: the timer of a sleep, the listener of a promise. */
function checkPendingCompletions(check: Check, invocation: Invocation): void {
  const { id, target } = invocation.facts;
  const entries = check.journal(id);
  const completed = new Set<number>();
  for (const entry of entries) {
    if (entry === undefined || isCommand(entry.type)) continue;
    const answered = notificationIdOf(entry.type, entry.body);
    if (answered.kind === "completion") completed.add(answered.id);
  }
  for (const entry of entries) {
    if (entry === undefined || (entry.type !== MessageType.Sleep && entry.type !== MessageType.GetPromise)) continue;
    const command = decodeCommand(entry.type, entry.body);
    if (isFault(command) || (command.kind !== "sleep" && command.kind !== "getPromise")) {
      check.broken.push(`the journal of ${id} holds an unreadable command`);
      continue;
    }
    const completionId = command.resultCompletionId;
    if (completed.has(completionId)) continue;
    if (command.kind === "sleep") {
      const timer: TimerKey = { dueAtMs: command.wakeUpTimeMs, kind: "sleep", id, sequence: completionId };
      check.that(check.hasTimer(timer), () => `${id} sleeps under ${completionId}, but has no timer`);
    } else {
      const promise = check.promise(keyspaceOf(target), target.key ?? "", command.key);
      // The notification of a completed promise is a message: it may be in transit, and arrive after the promise was deleted.
      const listed =
        promise?.kind === "completed" ||
        promise?.listeners.some((each) => each.id === id && each.completionId === completionId) === true ||
        check.isOnItsWay(id, completionId);
      check.that(listed, () => `${id} waits for promise ${command.key}, which does not list it`);
    }
  }
}

function checkLock(check: Check, service: string, key: string, lock: ObjectLock): void {
  const name = `${service}/${key}`;
  check.that(lock.head <= lock.tail, () => `the inbox of ${name} ends at ${lock.tail} before it begins at ${lock.head}`);
  if (lock.holder === undefined) {
    check.that(check.isHeldBack(service, key), () => `${name} has a queue and no holder, and is not paused`);
    return;
  }
  const holder = check.invocations.get(lock.holder);
  const target = holder?.facts.target;
  const holds =
    isInFlight(holder) && target !== undefined && isExclusive(target) && keyspaceOf(target) === service && target.key === key;
  check.that(holds, () => `${name} is held by ${lock.holder}, which is ${holder?.status ?? "not there"}`);
}

function checkInboxEntry(check: Check, service: string, key: string, seq: number, entry: InboxEntry): void {
  const lock = check.lock(service, key);
  const name = `entry ${seq} of the inbox of ${service}/${key}`;
  check.that(lock !== undefined && seq >= lock.head && seq < lock.tail, () => `${name} is outside of the range of the lock`);
  if (entry.kind !== "invocation") return;
  const waiting = check.invocations.get(entry.id);
  check.that(
    waiting?.status === "inboxed" && waiting.inboxSeq === seq,
    () => `${name} is ${entry.id}, which is ${waiting?.status ?? "not there"}`,
  );
}

function checkTimer(check: Check, timer: TimerKey): void {
  if (timer.kind === "sleep") return; // A sleep may outlive a handler that did not wait for it.
  if (timer.kind === "expireState") return; // Its id is that of an object: `checkExpiries`.
  const status = check.invocations.get(timer.id)?.status;
  const requiredStatus = timer.kind === "start" ? "scheduled" : "completed";
  check.that(status === requiredStatus, () => `a ${timer.kind} timer is for ${timer.id}, which is ${status ?? "not there"}`);
}

/** State that expires has a timer, or its lock notes that the timer has fired; no other object has a timer. */
function checkExpiries(check: Check, timers: readonly TimerKey[], expiries: readonly StateExpiry[]): void {
  const armed = new Set(timers.filter((timer) => timer.kind === "expireState" && !isThrottleTimer(timer)).map(timerText));
  for (const expiry of expiries) {
    const { service, key, expiresAtMs } = expiry;
    const isArmed = armed.delete(timerText(stateTimer(expiry)));
    const isNoted = check.lock(service, key)?.isStateDue === true;
    check.that(isArmed || isNoted, () => `the state of ${service}/${key} expires at ${expiresAtMs}, but has no timer`);
  }
  check.that(armed.size === 0, () => `timers for state that does not expire: ${[...armed].join()}`);
}

/** A sleep is identified by its completion id alone: stores may round due times outside of the range that they can order. */
function timerText({ kind, id, sequence, dueAtMs }: TimerKey): string {
  return kind === "sleep" ? `${kind}/${id}/${sequence}` : `${kind}/${id}/${dueAtMs}`;
}

function idText(id: NotificationId): string {
  switch (id.kind) {
    case "completion":
      return `c${id.id}`;
    case "signalIndex":
      return `i${id.index}`;
    case "signalName":
      return `n${id.name}`;
  }
}

/** Each throttle key has one timer, and the partition counts its keys. */
function checkThrottleKeys(check: Check, timers: readonly TimerKey[], counts: readonly number[]): void {
  const keyCount = timers.filter(isThrottleTimer).length;
  check.that((counts[0] ?? 0) === keyCount, () => `${keyCount} throttle keys are counted as ${counts[0] ?? "none"}`);
}
