/** Builders of invocations, targets and facts: a test gives only the fields that it is about, these fill in the rest. */
import { type InvocationId, invocationIdFromRaw } from "@perdure/base";
import { PRIORITY_DEFAULT } from "@perdure/flow-control";
import { futureFromLists } from "@perdure/service-protocol";
import type {
  Completed,
  Inboxed,
  Invocation,
  InvocationFacts,
  Invoked,
  JournalProgress,
  Outcome,
  Paused,
  Ready,
  Scheduled,
  Suspended,
} from "../invocation.js";
import type { Target } from "../target.js";

/** A legal id, the same for the same number; `slot` (0…255) places it in the range of partition keys. */
export function anId(n: number, slot = 0): InvocationId {
  const raw = new Uint8Array(24);
  raw[0] = slot;
  new DataView(raw.buffer).setUint32(20, n);
  return invocationIdFromRaw(raw);
}

/** `S/h`, a plain service. */
export const plainTarget: Target = Object.freeze({
  scope: undefined,
  service: "S",
  key: undefined,
  handler: "h",
  serviceType: "service",
  handlerType: "shared",
});

/** Exclusive handler `O/key/h`. */
export function objectTarget(key: string, handlerType: "exclusive" | "shared" = "exclusive"): Target {
  return { scope: undefined, service: "O", key, handler: "h", serviceType: "virtualObject", handlerType };
}

/** `W/key/run`, or a shared handler of the workflow. */
export function workflowTarget(key: string, handlerType: "workflow" | "shared" = "workflow", scope?: string): Target {
  const handler = handlerType === "workflow" ? "run" : "h";
  return { scope, service: "W", key, handler, serviceType: "workflow", handlerType };
}

/** `S/h` in a scope. */
export function scopedTarget(scope: string, service = "S"): Target {
  return { scope, service, key: undefined, handler: "h", serviceType: "service", handlerType: "shared" };
}

/** Facts of a call through ingress to a plain service, retained for a minute. */
export function someFacts(change: Partial<InvocationFacts> = {}): InvocationFacts {
  return {
    id: anId(1),
    target: plainTarget,
    source: { kind: "ingress" },
    idempotencyKey: undefined,
    limitKey: undefined,
    priority: PRIORITY_DEFAULT,
    requestId: 0,
    createdAtMs: 1_000,
    executionTimeMs: undefined,
    completionRetentionMs: 60_000,
    journalRetentionMs: 60_000,
    randomSeed: undefined,
    trace: undefined,
    bytes: undefined,
    ...change,
  };
}

const INPUT_ONLY: JournalProgress = { length: 1, commands: 1, notifications: 0, outputIndex: -1, hasEvents: false };

export const SUCCESS: Outcome = Object.freeze({ kind: "success", value: new Uint8Array([1]) });

type Change = { facts?: InvocationFacts } & Partial<Omit<Scheduled, "status" | "facts">>;

/** An invocation in a status; the data of the status have sensible defaults. */
export function anInvocation(status: "scheduled", change?: Change): Scheduled;
export function anInvocation(status: "inboxed", change?: Change & Partial<Pick<Inboxed, "waitsFor" | "inboxSeq">>): Inboxed;
export function anInvocation(status: "invoked", change?: Change & Partial<Pick<Invoked, "pauseRequested">>): Invoked;
export function anInvocation(status: "suspended", change?: Change & Partial<Pick<Suspended, "awaiting">>): Suspended;
export function anInvocation(status: "ready", change?: Change & Partial<Pick<Ready, "readyAtMs">>): Ready;
export function anInvocation(status: "paused", change?: Change): Paused;
export function anInvocation(status: "completed", change?: Change & Partial<Pick<Completed, "outcome">>): Completed;
export function anInvocation(status: Invocation["status"], change?: Change): Invocation;
export function anInvocation(status: Invocation["status"], change: Change & Record<string, unknown> = {}): Invocation {
  const common = {
    facts: someFacts(),
    modifiedAtMs: 1_000,
    run: status === "scheduled" || status === "inboxed" ? 0 : 1,
    pinned: undefined,
    journal: INPUT_ONLY,
    sinks: [],
    milestones: {
      scheduledAtMs: undefined,
      inboxedAtMs: undefined,
      runningAtMs: undefined,
      completedAtMs: status === "completed" ? 1_000 : undefined,
      moves: undefined,
      restoredAtMs: undefined,
    },
  };
  switch (status) {
    case "scheduled":
    case "paused":
      return { status, ...common, ...change };
    case "inboxed":
      return { status, ...common, waitsFor: "lock", inboxSeq: 0, ...change };
    case "invoked":
      return { status, ...common, pauseRequested: false, ...change };
    case "suspended":
      return { status, ...common, awaiting: futureFromLists([1], [1]), ...change };
    case "ready":
      return { status, ...common, readyAtMs: 1_000, ...change };
    case "completed":
      return { status, ...common, outcome: SUCCESS, ...change };
  }
}
