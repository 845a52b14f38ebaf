/**
 * Why: a bench of queries needs 100,000 invocations with journals, and making them by calls takes minutes in which nothing is
 * measured. This writes them as a server would have: arguments are the partition directory of a server that is stopped, its number of
 * partitions, how many invocations, and the deployment they ran on. Of ten, four are suspended in a sleep and six completed, half of
 * those with three steps, some of objects with state; fifty are running (their endpoint never answers).
 */
import { type DeploymentId, hashString, newInvocationId, partitionOf, partitionOfKey, systemRandom, utf8 } from "@perdure/base";
import { openLevelKeyValue } from "@perdure/leveldb";
import {
  commandTypeOf,
  encodeCommand,
  encodeCompletion,
  encodeInput,
  futureFromLists,
  type JournalCommand,
  MessageType,
} from "@perdure/service-protocol";
import { type encodeInvocation, KvPartitionStore, type PartitionBatch } from "@perdure/storage";

type Invocation = Parameters<typeof encodeInvocation>[0];
type Facts = Invocation["facts"];
type Mutation = PartitionBatch["mutations"][number];
type Entry = Extract<Mutation, { kind: "appendEntry" }>["entry"];

const BATCH = 1000;
const RUNNING = 50;
const KEYS = 1000;
const DAY_MS = 86_400_000;

const [directory = "", partitionText = "", countText = "", deployment = ""] = process.argv.slice(2);
const partitions = Number(partitionText);
const count = Number(countText);
const nowMs = Date.now();

await using store = new KvPartitionStore(await openLevelKeyValue(directory));
const epochs: number[] = [];
for (let partition = 0; partition < partitions; partition++) epochs.push(await store.claim(partition));
for (let from = 0; from < count; from += BATCH) {
  const batches = Array.from({ length: partitions }, (): Mutation[] => []);
  for (let i = from; i < Math.min(from + BATCH, count); i++) add(i, batches);
  await store.commit(
    batches.flatMap((mutations, partition) =>
      mutations.length === 0 ? [] : [{ partition, epoch: epochs[partition] ?? 0, mutations }],
    ),
  );
}

function add(i: number, batches: readonly Mutation[][]): void {
  const target = targetOf(i);
  const id = newInvocationId(target, nowMs + i, systemRandom);
  const createdAtMs = nowMs - DAY_MS + i * 100;
  const entries = entriesOf(i, createdAtMs);
  const commands = entries.filter(({ type }) => type < 0x8000).length;
  const facts: Facts = {
    id,
    target,
    source: { kind: "ingress" },
    idempotencyKey: undefined,
    limitKey: undefined,
    priority: 3,
    requestId: 0,
    createdAtMs,
    executionTimeMs: undefined,
    completionRetentionMs: DAY_MS * 30,
    journalRetentionMs: DAY_MS * 30,
    randomSeed: undefined,
    trace: undefined,
    bytes: undefined,
  };
  const common = {
    facts,
    modifiedAtMs: createdAtMs + 20,
    run: 1,
    pinned: { deploymentId: deployment as DeploymentId, protocolVersion: 6 },
    journal: { length: entries.length, commands, notifications: entries.length - commands, outputIndex: -1, hasEvents: false },
    sinks: [],
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: createdAtMs, completedAtMs: undefined },
  };
  const mutations = batches[partitionOf(id, partitions)] as Mutation[];
  mutations.push({ kind: "putInvocation", invocation: invocationOf(i, common) });
  for (const [index, entry] of entries.entries()) mutations.push({ kind: "appendEntry", id, index, entry });
  if (target.key !== undefined && i < KEYS * 20) {
    const home = batches[partitionOfKey(hashString(target.key), partitions)] as Mutation[];
    home.push({ kind: "putState", service: target.service, key: target.key, stateKey: "n", value: utf8(String(i)) });
  }
}

function targetOf(i: number): Facts["target"] {
  const plain = { scope: undefined, key: undefined, serviceType: "service", handlerType: "shared" } as const;
  if (i < RUNNING) return { ...plain, service: "Bench", handler: "hang" };
  if (isSuspended(i)) return { ...plain, service: "Sleeper", handler: "sleep" };
  if (i % 20 === 5)
    return {
      ...plain,
      service: "Counter",
      key: `k${i % KEYS}`,
      handler: "add",
      serviceType: "virtualObject",
      handlerType: "exclusive",
    };
  return { ...plain, service: "Bench", handler: hasSteps(i) ? "three" : "noop" };
}

function isSuspended(i: number): boolean {
  return i % 10 < 4;
}

function hasSteps(i: number): boolean {
  return i % 2 === 0;
}

function invocationOf(i: number, common: Omit<Extract<Invocation, { status: "paused" }>, "status">): Invocation {
  if (i < RUNNING) return { status: "invoked", ...common, pauseRequested: false };
  if (isSuspended(i)) return { status: "suspended", ...common, awaiting: futureFromLists([1], [1]) };
  const { milestones } = common;
  return {
    status: "completed",
    ...common,
    milestones: { ...milestones, completedAtMs: (milestones.runningAtMs ?? 0) + 20 },
    outcome: { kind: "success", value: utf8('"hello"') },
  };
}

function entriesOf(i: number, atMs: number): Entry[] {
  const command = (value: JournalCommand): Entry => ({
    type: commandTypeOf[value.kind],
    body: encodeCommand(value),
    appendedAtMs: atMs,
  });
  const input: Entry = { type: MessageType.Input, body: encodeInput([], new Uint8Array(0)), appendedAtMs: atMs };
  if (i < RUNNING) return [input];
  if (isSuspended(i)) return [input, command({ kind: "sleep", wakeUpTimeMs: nowMs + DAY_MS, resultCompletionId: 1, name: "" })];
  const output = command({ kind: "output", result: { kind: "value", value: utf8('"hello"') }, name: "" });
  if (!hasSteps(i)) return [input, output];
  const steps = ["a", "b", "c"].flatMap((name, step) => [
    command({ kind: "run", resultCompletionId: step + 1, name }),
    {
      type: MessageType.RunCompletion,
      body: encodeCompletion(step + 1, { kind: "value", value: utf8("1") }),
      appendedAtMs: atMs,
    },
  ]);
  return [input, ...steps, output];
}
