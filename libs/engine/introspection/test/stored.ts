/** A small environment in a real partition store, with invocations in every state and rows in every table. */
import {
  type DeploymentId,
  hashString,
  type InvocationId,
  newInvocationId,
  partitionOf,
  partitionOfKey,
  systemClock,
  toBinaryString,
  utf8,
  workflowInvocationId,
} from "@perdure/base";
import {
  commandTypeOf,
  encodeCommand,
  encodeCompletion,
  encodeInput,
  encodeNotification,
  futureFromLists,
  type JournalCommand,
  MessageType,
  voidResult,
} from "@perdure/service-protocol";
import {
  EMPTY_PROGRESS,
  type Invocation,
  type InvocationFacts,
  type JournalEntry,
  type Mutation,
  type Target,
} from "@perdure/state-machine";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { SeededRandom } from "@perdure/testkit";
import { liveRowsOf } from "../src/live.js";
import type {
  HeldInvocation,
  IntrospectionSource,
  RegisteredDeployment,
  RegisteredService,
  RegistryRows,
  StoredRows,
} from "../src/ports.js";

export const PARTITIONS = 4;
export const NOW = Date.UTC(2026, 10, 21, 7, 25, 50, 242);
const DAY_MS = 86_400_000;

const random = new SeededRandom(7);
const deploymentId = "dp_14pRvKO3JzniV4tg6GOFKOl" as DeploymentId;

/** Counts reads, so that tests can check how little was read. */
export interface CountedSource extends IntrospectionSource {
  /** `rows`: of invocations, in scans. */
  readonly counts: { pointReads: number; rows: number; scans: string[] };
}

export interface World extends AsyncDisposable {
  readonly source: CountedSource;
  /** Ids by role. */
  readonly ids: Readonly<Record<Role, InvocationId>>;
}

type Role =
  | "running"
  | "retrying"
  | "ready"
  | "suspended"
  | "inboxed"
  | "scheduled"
  | "paused"
  | "done"
  | "failed"
  | "workflow"
  | "child";

const counter = (key: string, handler: string): Target => ({
  scope: undefined,
  service: "Counter",
  key,
  handler,
  serviceType: "virtualObject",
  handlerType: "exclusive",
});
const greeter = (handler: string): Target => ({
  scope: undefined,
  service: "Greeter",
  key: undefined,
  handler,
  serviceType: "service",
  handlerType: "shared",
});

export async function openWorld(): Promise<World> {
  const store = new KvPartitionStore(new MemoryKeyValue());
  const epochs: number[] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) epochs.push(await store.claim(partition));
  const put = async (partition: number, mutations: Mutation[]) => {
    await store.commit([{ partition, epoch: epochs[partition] ?? 0, mutations }]);
  };
  const at = (id: InvocationId) => partitionOf(id, PARTITIONS);
  const fresh = (target: Target) => newInvocationId(target, NOW, random);

  const ids: Record<Role, InvocationId> = {
    running: fresh(counter("k1", "add")),
    retrying: fresh(greeter("retry")),
    ready: fresh(greeter("wait")),
    suspended: fresh(greeter("suspend")),
    inboxed: fresh(counter("k1", "add")),
    scheduled: fresh(greeter("later")),
    paused: fresh(greeter("pausing")),
    done: fresh(greeter("steps")),
    failed: fresh(greeter("fail")),
    workflow: workflowInvocationId("Wf", "w1"),
    child: fresh(counter("k2", "add")),
  };

  const steps = stepsJournal(ids.child);
  const invocations: Invocation[] = [
    { ...common(ids.running, counter("k1", "add"), 1), status: "invoked", pauseRequested: false },
    { ...common(ids.retrying, greeter("retry"), 1, true), status: "invoked", pauseRequested: false },
    { ...common(ids.ready, greeter("wait"), 1), status: "invoked", pauseRequested: false },
    { ...common(ids.suspended, greeter("suspend"), 1), status: "suspended", awaiting: futureFromLists([1], [1]) },
    { ...common(ids.inboxed, counter("k1", "add"), 1), status: "inboxed", waitsFor: "lock", inboxSeq: 0 },
    { ...common(ids.scheduled, greeter("later"), 1, false, NOW + DAY_MS), status: "scheduled" },
    { ...common(ids.paused, greeter("pausing"), 1, true), status: "paused" },
    { ...common(ids.done, greeter("steps"), steps.length), status: "completed", outcome: { kind: "success", value: utf8("1") } },
    {
      ...common(ids.failed, greeter("fail"), 1),
      status: "completed",
      outcome: { kind: "failure", failure: { code: 418, message: "teapot", metadata: [] }, stacktrace: undefined },
    },
    {
      ...common(
        ids.workflow,
        { ...greeter("run"), service: "Wf", key: "w1", serviceType: "workflow", handlerType: "workflow" },
        1,
      ),
      status: "completed",
      outcome: { kind: "success", value: utf8("1") },
    },
    {
      ...common(ids.child, counter("k2", "add"), 1),
      facts: {
        ...facts(ids.child, counter("k2", "add"), undefined),
        source: { kind: "service", callerId: ids.done, callerTarget: greeter("steps") },
      },
      status: "completed",
      outcome: { kind: "success", value: utf8("1") },
    },
  ];
  for (const invocation of invocations) {
    const { id } = invocation.facts;
    const entries = id === ids.done ? steps : [anInput()];
    await put(at(id), [
      { kind: "putInvocation", invocation },
      ...entries.map((entry, index): Mutation => ({ kind: "appendEntry", id, index, entry })),
    ]);
  }
  const boom = attemptError();
  await put(at(ids.retrying), [
    { kind: "putEvent", id: ids.retrying, slot: 1, event: { kind: "transientError", afterIndex: 0, atMs: NOW + 5, error: boom } },
    { kind: "putEvent", id: ids.retrying, slot: 2, event: { kind: "transientError", afterIndex: 0, atMs: NOW + 6, error: boom } },
  ]);
  await put(at(ids.paused), [
    { kind: "putEvent", id: ids.paused, slot: 16, event: { kind: "paused", afterIndex: 0, atMs: NOW + 9, error: boom } },
  ]);
  const home = (key: string) => partitionOfKey(hashString(key), PARTITIONS);
  await put(home("k1"), [
    { kind: "putState", service: "Counter", key: "k1", stateKey: toBinaryString(utf8("zähler")), value: utf8("12") },
    { kind: "putState", service: "Counter", key: "k1", stateKey: "raw", value: new Uint8Array([0, 255, 254]) },
    { kind: "putLock", service: "Counter", key: "k1", lock: { holder: ids.running, head: 0, tail: 2 } },
    { kind: "putInbox", service: "Counter", key: "k1", seq: 0, entry: { kind: "invocation", id: ids.inboxed } },
    {
      kind: "putInbox",
      service: "Counter",
      key: "k1",
      seq: 1,
      entry: { kind: "stateMutation", expectedVersion: undefined, entries: [] },
    },
  ]);
  await put(home("k2"), [{ kind: "putState", service: "Counter", key: "k2", stateKey: "n", value: utf8("1") }]);
  await put(home("w1"), [
    { kind: "putState", service: "Wf", key: "w1", stateKey: "stage", value: utf8('"x"') },
    {
      kind: "putPromise",
      service: "Wf",
      key: "w1",
      name: "go",
      promise: { kind: "completed", outcome: { kind: "success", value: utf8('"now"') } },
    },
    { kind: "putPromise", service: "Wf", key: "w1", name: "open", promise: { kind: "pending", listeners: [] } },
    {
      kind: "putPromise",
      service: "Wf",
      key: "w1",
      name: "no",
      promise: {
        kind: "completed",
        outcome: { kind: "failure", failure: { code: 500, message: "no way", metadata: [] }, stacktrace: undefined },
      },
    },
  ]);

  const held = new Map<InvocationId, HeldInvocation>([
    [ids.running, heldInvocation(ids.running, true, undefined)],
    [ids.retrying, heldInvocation(ids.retrying, false, boom)],
  ]);
  return {
    ids,
    source: counted({
      partitionCount: PARTITIONS,
      isOneMoment: true,
      store,
      live: liveRowsOf({
        invoker: { status: (id) => held.get(id), statuses: () => held.values() },
        registry: registryRows(),
        flow: {
          flowRows: () => ({ queues: [], entries: [], limits: [], buckets: [] }),
          flowLimits: () => ({ limits: [], buckets: [] }),
        },
        partitionCount: PARTITIONS,
        clock: systemClock,
      }),
    }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function facts(id: InvocationId, target: Target, executionTimeMs: number | undefined): InvocationFacts {
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

function common(id: InvocationId, target: Target, length: number, hasEvents = false, executionTimeMs?: number) {
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

function anInput(): JournalEntry {
  const body = encodeInput([{ key: "content-type", value: "application/json" }], utf8("3"));
  return { type: MessageType.Input, body, appendedAtMs: NOW };
}

function stepsJournal(child: InvocationId): JournalEntry[] {
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

function attemptError() {
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

function heldInvocation(id: InvocationId, inFlight: boolean, lastFailure: HeldInvocation["lastFailure"]): HeldInvocation {
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

function registryRows(): RegistryRows {
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

function counted(source: IntrospectionSource): CountedSource {
  const counts: CountedSource["counts"] = { pointReads: 0, rows: 0, scans: [] };
  const { store } = source;
  const noting =
    <Args extends unknown[], Rows>(name: string, scan: (...args: Args) => Rows) =>
    (...args: Args): Rows => {
      counts.scans.push(name);
      return scan(...args);
    };
  const watched: StoredRows = {
    readJournal: noting("journal", store.readJournal.bind(store)),
    stateOf: noting("stateOf", store.stateOf.bind(store)),
    events: noting("events", store.events.bind(store)),
    invocationRow(partition, id) {
      counts.pointReads++;
      return store.invocationRow(partition, id);
    },
    async *invocationRows(partition, group) {
      counts.scans.push(group);
      for await (const rows of store.invocationRows(partition, group)) {
        counts.rows += rows.length;
        yield rows;
      }
    },
    scanState: noting("state", store.scanState.bind(store)),
    scanPromises: noting("promises", store.scanPromises.bind(store)),
    scanLocks: noting("locks", store.scanLocks.bind(store)),
    scanInboxes: noting("inboxes", store.scanInboxes.bind(store)),
  };
  return { ...source, store: watched, counts };
}
