/** Builder for invocations in answers of `describe`, with only the fields that the management API reads. */
import { EMPTY_BYTES, type InvocationId } from "@perdure/base";
import { EMPTY_PROGRESS, type Invocation, type Pinned, PRIORITY_DEFAULT } from "@perdure/state-machine";

/** An invocation of `Greeter/greet` in the given state. */
export function anInvocation(id: InvocationId, status: Invocation["status"], pinned: Pinned | undefined): Invocation {
  const common = {
    facts: {
      id,
      target: {
        service: "Greeter",
        key: undefined,
        handler: "greet",
        serviceType: "service",
        handlerType: "shared",
        scope: undefined,
      },
      source: { kind: "ingress" },
      idempotencyKey: undefined,
      requestId: 0,
      createdAtMs: 0,
      executionTimeMs: undefined,
      completionRetentionMs: 0,
      journalRetentionMs: 0,
      randomSeed: undefined,
      trace: undefined,
      limitKey: undefined,
      priority: PRIORITY_DEFAULT,
      bytes: undefined,
    },
    modifiedAtMs: 0,
    run: 1,
    pinned,
    journal: EMPTY_PROGRESS,
    sinks: [],
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: undefined, completedAtMs: undefined },
  } as const;
  switch (status) {
    case "inboxed":
      return { ...common, status, waitsFor: "lock", inboxSeq: 0 };
    case "invoked":
      return { ...common, status, pauseRequested: false };
    case "suspended":
      return {
        ...common,
        status,
        awaiting: { completions: [], signalIndexes: [1], signalNames: [], nested: [], combinator: "firstCompleted" },
      };
    case "completed":
      return { ...common, status, outcome: { kind: "success", value: EMPTY_BYTES } };
    case "ready":
      return { ...common, status, readyAtMs: 0 };
    default:
      return { ...common, status };
  }
}
