/**
 * Determines the one thing that an invocation waits for, from its stored state, the state in its invoker and the registry. `waitsOn`
 * returns the invocations that it waits for in turn.
 */
import { type InvocationId, present, unreachable } from "@perdure/base";
import type { AttemptError, Debounce, Inboxed, Invocation, Invoked, Outcome, Paused, Suspended } from "@perdure/state-machine";
import { type Awaited, type AwaitLeaf, type AwaitNode, futureFromJson, leafOfStep, leavesOf, resolveFuture } from "./awaiting.js";
import type { EndpointAnswer, FlowFacts, InvocationContext, InvocationSnapshot, LockFacts, RouteFacts } from "./facts.js";
import { AWAITED_LEAVES_MAX } from "./limits.js";
import { type JournalStep, readJournal } from "./steps.js";

/** Values of `sys_invocation.status`. */
type ShownStatus = "scheduled" | "pending" | "ready" | "running" | "backing-off" | "suspended" | "paused" | "completed";

export type Wait =
  | { readonly kind: "completed"; readonly outcome: Outcome; readonly expiresAtMs: number | undefined }
  | { readonly kind: "delayedStart"; readonly startsAtMs: number; readonly debounce?: Debounce | undefined }
  | { readonly kind: "objectLock"; readonly service: string; readonly key: string; readonly lock: LockFacts }
  | { readonly kind: "limit"; readonly flow: FlowFacts }
  | { readonly kind: "invokerSlot" }
  | {
      readonly kind: "running";
      readonly deploymentId: string | undefined;
      readonly attempt: number;
      /** A pause was requested; it takes effect when the attempt stops. */
      readonly pauseRequested: boolean;
      /** The newest command of the handler. */
      readonly lastStep: JournalStep | undefined;
      /** Future that the handler awaits; undefined when its SDK does not report it. */
      readonly awaiting: AwaitNode | undefined;
      /** Extent of the endpoint's answer in this attempt; undefined when the worker does not report it. */
      readonly endpointAnswer: EndpointAnswer | undefined;
      /** Commands without a result, the newest first: the handler may await them or do other work. */
      readonly open: readonly AwaitLeaf[];
    }
  | {
      readonly kind: "retry";
      readonly failure: AttemptError | undefined;
      /** Undefined while the failed attempt ends or no slot is free. */
      readonly nextAtMs: number | undefined;
      readonly attempts: number;
      /** Attempts that the policy still allows; undefined when unlimited. Never below 0. */
      readonly attemptsLeft: number | undefined;
      readonly onExhausted: "pause" | "kill" | undefined;
    }
  | { readonly kind: "awaiting"; readonly awaiting: AwaitNode }
  | { readonly kind: "paused"; readonly failure: AttemptError | undefined };

export interface Situation {
  readonly id: InvocationId;
  readonly invocation: Invocation;
  readonly status: ShownStatus;
  readonly wait: Wait;
  /** Time at which this wait began (ms since 1970). */
  readonly sinceMs: number;
  readonly route: RouteFacts;
  /** Whether steps may be missing because the journal is longer than the part that was read. */
  readonly journalIsPartial: boolean;
}

/** The invocation's present situation: its status, its wait and its last steps. */
export function situationOf(snapshot: InvocationSnapshot, around: InvocationContext): Situation {
  const { invocation, entries } = snapshot;
  const { status, wait, sinceMs } = statusOf(snapshot, around);
  return {
    id: invocation.facts.id,
    invocation,
    status,
    wait,
    sinceMs,
    route: around.route,
    journalIsPartial: entries.length < invocation.journal.length,
  };
}

type StatusAndWait = Pick<Situation, "status" | "wait" | "sinceMs">;

function statusOf(snapshot: InvocationSnapshot, around: InvocationContext): StatusAndWait {
  const { invocation } = snapshot;
  switch (invocation.status) {
    case "scheduled": {
      const { executionTimeMs, createdAtMs, debounce } = invocation.facts;
      return {
        status: "scheduled",
        wait: { kind: "delayedStart", startsAtMs: executionTimeMs ?? invocation.modifiedAtMs, debounce },
        sinceMs: createdAtMs,
      };
    }
    case "inboxed":
      return inboxed(invocation, around);
    case "invoked":
      return invoked(invocation, snapshot, around);
    case "suspended":
      return suspended(invocation, snapshot);
    case "ready":
      return {
        status: "ready",
        wait: { kind: "limit", flow: around.flow ?? flowUnknown(invocation) },
        sinceMs: invocation.readyAtMs,
      };
    case "paused":
      return paused(invocation, snapshot);
    case "completed": {
      const at = invocation.milestones.completedAtMs ?? invocation.modifiedAtMs;
      const expiresAtMs = at + invocation.facts.completionRetentionMs;
      return { status: "completed", wait: { kind: "completed", outcome: invocation.outcome, expiresAtMs }, sinceMs: at };
    }
    default:
      return unreachable(invocation);
  }
}

function inboxed(invocation: Inboxed, { lock, flow }: InvocationContext): StatusAndWait {
  const sinceMs = invocation.milestones.inboxedAtMs ?? invocation.modifiedAtMs;
  if (invocation.waitsFor === "slot") {
    return { status: "pending", wait: { kind: "limit", flow: flow ?? flowUnknown(invocation) }, sinceMs };
  }
  const { service, key = "" } = invocation.facts.target;
  const queue = lock ?? { holder: undefined, isPaused: false, ahead: 0, aheadIsLeast: true };
  return { status: "pending", wait: { kind: "objectLock", service, key, lock: queue }, sinceMs };
}

/** Flow control without facts of the scheduler: the scheduler was not queried, or has just admitted the invocation. */
function flowUnknown({ facts }: Invocation): FlowFacts {
  return {
    scope: facts.target.scope ?? "",
    limitKey: facts.limitKey,
    levels: [],
    isQueuePaused: false,
    place: undefined,
  };
}

function invoked(invocation: Invoked, snapshot: InvocationSnapshot, { route }: InvocationContext): StatusAndWait {
  const { held } = snapshot;
  if (held?.slotWait !== undefined) {
    // As in SQL, an attempt that is due after a failure counts as backing off until it begins.
    const status = held.retryCount > 0 ? "backing-off" : "ready";
    return { status, wait: { kind: "invokerSlot" }, sinceMs: held.slotWait.sinceMs };
  }
  if (held === undefined || (!held.inFlight && held.retryCount === 0)) {
    return { status: "ready", wait: { kind: "invokerSlot" }, sinceMs: invocation.modifiedAtMs };
  }
  if (!held.inFlight) {
    const { retry } = route;
    const attemptsLeft = retry?.attemptsMax === undefined ? undefined : Math.max(0, retry.attemptsMax - held.retryCount);
    const failedAtMs = newestFailureMs(snapshot) ?? held.lastStartAtMs ?? invocation.modifiedAtMs;
    return {
      status: "backing-off",
      wait: {
        kind: "retry",
        failure: held.lastFailure,
        nextAtMs: held.nextRetryAtMs,
        attempts: held.retryCount,
        attemptsLeft,
        onExhausted: retry?.attemptsMax === undefined ? undefined : retry.onMaxAttempts,
      },
      sinceMs: failedAtMs,
    };
  }
  const journal = readJournal(snapshot.entries);
  const future = held.lastAwaitingJson === undefined ? undefined : futureFromJson(held.lastAwaitingJson);
  const open: AwaitLeaf[] = [];
  for (let at = journal.steps.length - 1; at >= 0 && open.length < AWAITED_LEAVES_MAX; at--) {
    const step = present(journal.steps[at]);
    if (step.endedAtMs === undefined) open.push(leafOfStep(step));
  }
  return {
    status: "running",
    wait: {
      kind: "running",
      deploymentId: held.lastAttemptDeploymentId ?? invocation.pinned?.deploymentId,
      attempt: held.retryCount,
      pauseRequested: invocation.pauseRequested,
      lastStep: journal.steps.findLast(({ command }) => command !== undefined && command.kind !== "input"),
      awaiting: future === undefined ? undefined : resolveFuture(future, invocation.facts.id, journal),
      endpointAnswer: held.endpointAnswer,
      open,
    },
    sinceMs: held.lastStartAtMs ?? invocation.modifiedAtMs,
  };
}

function suspended(invocation: Suspended, { entries }: InvocationSnapshot): StatusAndWait {
  const awaiting = resolveFuture(invocation.awaiting, invocation.facts.id, readJournal(entries));
  // A notification that does not resume the invocation changes the record as well; nothing before it shows when the invocation suspended.
  return { status: "suspended", wait: { kind: "awaiting", awaiting }, sinceMs: lastActivityMs(invocation, entries) };
}

function paused(invocation: Paused, { events }: InvocationSnapshot): StatusAndWait {
  const event = newest(events.filter(({ kind }) => kind === "paused"));
  return {
    status: "paused",
    wait: { kind: "paused", failure: event?.error },
    sinceMs: event?.atMs ?? invocation.modifiedAtMs,
  };
}

/** Time of the handler's last command; the record's modification time when no notification arrived since. */
function lastActivityMs(invocation: Invocation, entries: InvocationSnapshot["entries"]): number {
  const last = entries.at(-1);
  if (last === undefined || last.appendedAtMs < invocation.modifiedAtMs) return invocation.modifiedAtMs;
  const command = entries.findLast(({ type }) => type < 0x8000);
  return Math.max(command?.appendedAtMs ?? 0, invocation.milestones.runningAtMs ?? 0);
}

function newestFailureMs({ events }: InvocationSnapshot): number | undefined {
  return newest(events.filter(({ kind }) => kind === "transientError"))?.atMs;
}

function newest<T extends { readonly atMs: number }>(events: readonly T[]): T | undefined {
  return events.reduce<T | undefined>((best, each) => (best === undefined || each.atMs >= best.atMs ? each : best), undefined);
}

// ── other invocations waited for ─────────────────────────────────────────────────────────────────

/** Other invocations whose progress would end this wait, in the order in which the wait names them. */
export function waitsOn(wait: Wait): readonly InvocationId[] {
  switch (wait.kind) {
    case "objectLock":
      return wait.lock.holder === undefined ? [] : [wait.lock.holder];
    case "awaiting":
      return idsIn(wait.awaiting);
    case "running":
      return wait.awaiting === undefined ? idsOf(wait.open) : idsIn(wait.awaiting);
    default:
      return [];
  }
}

function idsIn(awaited: Awaited): InvocationId[] {
  return idsOf(leavesOf(awaited));
}

function idsOf(leaves: readonly AwaitLeaf[]): InvocationId[] {
  const ids = new Set<InvocationId>();
  for (const leaf of leaves) {
    if ((leaf.kind === "call" || leaf.kind === "attach") && leaf.id !== undefined) ids.add(leaf.id);
  }
  return [...ids];
}
