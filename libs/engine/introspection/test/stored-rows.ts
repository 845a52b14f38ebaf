/** Rows of the small environment: facts, journals, failures, and what the registry and the invoker report. */
import { type DeploymentId, type InvocationId, utf8 } from "@perdure/base";
import {
  commandTypeOf,
  encodeCommand,
  encodeCompletion,
  encodeInput,
  encodeNotification,
  type JournalCommand,
  MessageType,
  voidResult,
} from "@perdure/service-protocol";
import { EMPTY_PROGRESS, type InvocationFacts, type JournalEntry, type Target } from "@perdure/state-machine";
import type { HeldInvocation, RegisteredDeployment, RegisteredService, RegistryRows } from "../src/ports.js";

export const PARTITIONS = 4;
export const NOW = Date.UTC(2026, 10, 21, 7, 25, 50, 242);
export const DAY_MS = 86_400_000;

const deploymentId = "dp_14pRvKO3JzniV4tg6GOFKOl" as DeploymentId;

export function facts(id: InvocationId, target: Target, executionTimeMs: number | undefined): InvocationFacts {
  return {
    id,
    target,
    source: { kind: "ingress" },
    idempotencyKey: undefined,
    limitKey: undefined,
    priority: 3,
    requestId: 0,
    createdAtMs: NOW,
    executionTimeMs,
    completionRetentionMs: DAY_MS,
    journalRetentionMs: 1500,
    randomSeed: undefined,
    trace: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: undefined },
    bytes: undefined,
  };
}

export function common(id: InvocationId, target: Target, length: number, hasEvents = false, executionTimeMs?: number) {
  return {
    facts: facts(id, target, executionTimeMs),
    modifiedAtMs: NOW + 10,
    run: 1,
    pinned: { deploymentId, protocolVersion: 6 },
    journal: { ...EMPTY_PROGRESS, length, commands: 1, hasEvents },
    sinks: [],
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: NOW + 1, completedAtMs: undefined },
  };
}

export function anInput(): JournalEntry {
  const body = encodeInput([{ key: "content-type", value: "application/json" }], utf8("3"));
  return { type: MessageType.Input, body, appendedAtMs: NOW };
}

export function stepsJournal(child: InvocationId): JournalEntry[] {
  const command = (value: JournalCommand): JournalEntry => ({
    type: commandTypeOf[value.kind],
    body: encodeCommand(value),
    appendedAtMs: NOW,
  });
  const notification = (type: number, body: Uint8Array): JournalEntry => ({ type, body, appendedAtMs: NOW });
  return [
    anInput(),
    command({ kind: "run", resultCompletionId: 1, name: "step a" }),
    notification(MessageType.RunCompletion, encodeCompletion(1, { kind: "value", value: utf8("{}") })),
    command({ kind: "sleep", wakeUpTimeMs: NOW, resultCompletionId: 2, name: "" }),
    notification(MessageType.SleepCompletion, encodeCompletion(2, voidResult)),
    command({
      kind: "call",
      serviceName: "Counter",
      handlerName: "add",
      key: "k2",
      parameter: utf8("1"),
      headers: [],
      idempotencyKey: undefined,
      scope: undefined,
      limitKey: undefined,
      invocationIdNotificationIdx: 3,
      resultCompletionId: 4,
      name: "",
    }),
    notification(MessageType.CallInvocationIdCompletion, encodeCompletion(3, { kind: "invocationId", invocationId: child })),
    command({
      kind: "oneWayCall",
      serviceName: "Wf",
      handlerName: "signal",
      key: "w9",
      parameter: utf8("1"),
      headers: [{ key: "a", value: "b" }],
      idempotencyKey: "i",
      scope: undefined,
      limitKey: undefined,
      invocationIdNotificationIdx: 9,
      invokeTimeMs: NOW,
      name: "",
    }),
    notification(
      MessageType.Signal,
      encodeNotification({ kind: "signalIndex", index: 17 }, { kind: "value", value: utf8("{}") }),
    ),
    { type: MessageType.Run, body: new Uint8Array([0xff]), appendedAtMs: NOW },
    command({
      kind: "output",
      result: { kind: "failure", failure: { code: 418, message: "teapot", metadata: [{ key: "a", value: "b" }] } },
      name: "",
    }),
  ];
}

export function attemptError() {
  return {
    errorCode: "RT0007",
    code: 500,
    message: "boom",
    stacktrace: "Error: boom\n    at handler",
    relatedCommandIndex: 2,
    relatedCommandName: "flaky step",
    relatedCommandType: MessageType.Run,
  };
}

export function heldInvocation(id: InvocationId, inFlight: boolean, lastFailure: HeldInvocation["lastFailure"]): HeldInvocation {
  return {
    id,
    inFlight,
    retryCount: inFlight ? 1 : 3,
    lastStartAtMs: NOW + 2,
    nextRetryAtMs: inFlight ? undefined : NOW + 60_000,
    lastAttemptDeploymentId: deploymentId,
    lastAttemptServer: "restate-sdk-typescript/1.17.2",
    lastFailure,
    lastAwaitingJson: undefined,
    slotWait: inFlight ? undefined : { service: "Greeter", isContinuation: true, sinceMs: NOW + 1 },
  };
}

export function registryRows(): RegistryRows {
  const definitions: RegisteredService["revision"]["definition"][] = [
    { name: "Greeter", kind: "service", handlers: [{ name: "steps", kind: "shared" }] },
    { name: "Counter", kind: "virtualObject", handlers: [{ name: "add", kind: "exclusive" }] },
    {
      name: "Wf",
      kind: "workflow",
      handlers: [
        { name: "run", kind: "workflow" },
        { name: "signal", kind: "shared" },
      ],
    },
  ];
  const deployment: RegisteredDeployment = {
    id: deploymentId,
    address: { kind: "http", uri: "http://localhost:9080/" },
    createdAtMs: NOW,
    minProtocolVersion: 5,
    maxProtocolVersion: 7,
    services: definitions.map((definition) => ({ definition })),
  };
  return {
    deployments: () => [deployment],
    services: () => definitions.map((definition) => ({ deployment, revision: { revision: 2, definition } })),
    effective: ({ revision }) => ({ public: revision.definition.name !== "Wf" }),
    eventSubscriptions: () => [],
    rules: () => [
      {
        pattern: "s1/*",
        concurrency: 5,
        rate: undefined,
        weight: 1,
        priority: undefined,
        description: undefined,
        disabled: false,
        version: 1,
        lastModifiedMs: NOW,
      },
    ],
  };
}
