/** A small environment in a real partition store, with invocations in every state and rows in every table. */
import {
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
import { futureFromLists } from "@perdure/service-protocol";
import type { Invocation, Mutation, Target } from "@perdure/state-machine";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { SeededRandom } from "@perdure/testkit";
import { liveRowsOf } from "../src/live.js";
import type { HeldInvocation, IntrospectionSource, StoredRows } from "../src/ports.js";
import {
  anInput,
  attemptError,
  common,
  DAY_MS,
  facts,
  heldInvocation,
  NOW,
  PARTITIONS,
  registryRows,
  stepsJournal,
} from "./stored-rows.js";

const random = new SeededRandom(7);

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
  const put: Put = async (partition, mutations) => {
    await store.commit([{ partition, epoch: epochs[partition] ?? 0, mutations }]);
  };
  const ids = newIds();
  await putInvocations(ids, put);
  await putEvents(ids, put);
  await putKeyedRows(ids, put);
  return { ids, source: sourceOf(store, ids), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

type Ids = World["ids"];
type Put = (partition: number, mutations: readonly Mutation[]) => Promise<void>;

const at = (id: InvocationId): number => partitionOf(id, PARTITIONS);

function newIds(): Ids {
  const fresh = (target: Target) => newInvocationId(target, NOW, random);
  return {
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
}

async function putInvocations(ids: Ids, put: Put): Promise<void> {
  const steps = stepsJournal(ids.child);
  for (const invocation of invocationsOf(ids, steps.length)) {
    const { id } = invocation.facts;
    const entries = id === ids.done ? steps : [anInput()];
    await put(at(id), [
      { kind: "putInvocation", invocation },
      ...entries.map((entry, index): Mutation => ({ kind: "appendEntry", id, index, entry })),
    ]);
  }
}

/** One in each state. `stepCount`: entries in the journal of the one that is done. */
function invocationsOf(ids: Ids, stepCount: number): readonly Invocation[] {
  return [
    { ...common(ids.running, counter("k1", "add"), 1), status: "invoked", pauseRequested: false },
    { ...common(ids.retrying, greeter("retry"), 1, true), status: "invoked", pauseRequested: false },
    { ...common(ids.ready, greeter("wait"), 1), status: "invoked", pauseRequested: false },
    { ...common(ids.suspended, greeter("suspend"), 1), status: "suspended", awaiting: futureFromLists([1], [1]) },
    { ...common(ids.inboxed, counter("k1", "add"), 1), status: "inboxed", waitsFor: "lock", inboxSeq: 0 },
    { ...common(ids.scheduled, greeter("later"), 1, false, NOW + DAY_MS), status: "scheduled" },
    { ...common(ids.paused, greeter("pausing"), 1, true), status: "paused" },
    { ...common(ids.done, greeter("steps"), stepCount), status: "completed", outcome: { kind: "success", value: utf8("1") } },
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
}

async function putEvents(ids: Ids, put: Put): Promise<void> {
  const boom = attemptError();
  await put(at(ids.retrying), [
    { kind: "putEvent", id: ids.retrying, slot: 1, event: { kind: "transientError", afterIndex: 0, atMs: NOW + 5, error: boom } },
    { kind: "putEvent", id: ids.retrying, slot: 2, event: { kind: "transientError", afterIndex: 0, atMs: NOW + 6, error: boom } },
  ]);
  await put(at(ids.paused), [
    { kind: "putEvent", id: ids.paused, slot: 16, event: { kind: "paused", afterIndex: 0, atMs: NOW + 9, error: boom } },
  ]);
}

/** State, locks, inboxes and promises. */
async function putKeyedRows(ids: Ids, put: Put): Promise<void> {
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
}

function sourceOf(store: KvPartitionStore, ids: Ids): CountedSource {
  const held = new Map<InvocationId, HeldInvocation>([
    [ids.running, heldInvocation(ids.running, true, undefined)],
    [ids.retrying, heldInvocation(ids.retrying, false, attemptError())],
  ]);
  return counted({
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
  });
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
