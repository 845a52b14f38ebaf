/**
 * Measures what the loop itself costs: CPU time per command, from the mailbox to the performed effect, on a store in memory. An
 * invocation here is five commands: invoke, pin, a state write, Output, end. Handlers cost nothing.
 *
 * Run: `make microbench FILTER=processor`. CPU time, best of many rounds, because the machine is shared.
 *
 * 2026-11-21, two cores with other load (load average 11 to 15), µs per command, best:
 *
 *     local store 6.2 · behind a network 9.5 · with an archive 9.1 · with an archive that is queried 11.5
 *
 * A store that counts actions in each batch costs the same within the noise (7.1 and 8.2 at load 4).
 *
 * Counting invocations by status and timers where they change (`population-counters.ts`): 7.7 and 7.8 before, 7.7 and 8.2 with it; with
 * a store that counts 7.4 and 6.9 before, 7.1 with it (load 18): within the noise.
 *
 * With the loop in one file and in several: the same within the noise (7.3 and 7.2 at load 35; 11.1 and 10.9 behind a network).
 *
 * With callbacks between the parts, and with one object that they share (2026-11-26, 12 and 13 interleaved runs at load 20), behind a network:
 * best 5.99 and 5.94, median of the bests 7.0 and 6.5.
 *
 * Maps of a batch cleared, and replaced (docs/decisions/0037-replace-maps-instead-of-clearing.md), with 24 partitions, best: 64 invocations at
 * once 10.4 to 11.7 and 8.7 to 9.3, one at a time 18.4 to 19.4 and 15.8 to 16.6 (load 24).
 */
import { silentLogger, systemClock } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import type { AttemptCommand } from "@perdure/state-machine";
import { anId, endOf, invokeOf, objectTarget, outputOf, pinOf, setStateOf, someFacts } from "@perdure/state-machine/testing";
import {
  ActionMeter,
  type AsyncPartitionStore,
  type FetchedRow,
  KvPartitionStore,
  MemoryArchive,
  MemoryKeyValue,
  type RowKey,
} from "@perdure/storage";
import { LoopbackPeers, NO_RULES, Processor, type ProcessorPorts } from "../src/index.js";

const ROUNDS = 30;
const INVOCATIONS = 2_000;
const AT_ONCE = 200;
const COMMANDS = 5;

interface Kind {
  readonly name: string;
  readonly store: (kv: KvPartitionStore) => ProcessorPorts["store"];
  readonly more: Partial<ProcessorPorts>;
  /** Whether the store counts the actions of what is committed. */
  readonly isMetered?: boolean;
  /** Whether calls have an idempotency key; with one, the archive is queried for every new invocation. */
  readonly isKeyed: boolean;
}

/** Returns the rows that this benchmark reads, one turn of the event loop later. */
function rowOf({ reads }: KvPartitionStore, key: RowKey): FetchedRow["value"] {
  switch (key.kind) {
    case "invocation":
      return reads.invocation(0, key.id);
    case "entry":
      return reads.entry(0, key.id, key.index);
    case "lock":
      return reads.lock(0, key.service, key.key);
    case "inbox":
      return reads.inbox(0, key.service, key.key, key.seq);
    default:
      throw new Error(`the benchmark does not read rows of the kind ${key.kind}`);
  }
}

function behindNetwork(store: KvPartitionStore): AsyncPartitionStore {
  const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const own: Pick<AsyncPartitionStore, "capabilities" | "fetch" | "commit"> = {
    capabilities: { sharedBatch: true, syncReads: false },
    async fetch(_partition, keys) {
      await later();
      return keys.map((key) => ({ ...key, value: rowOf(store, key) }) as FetchedRow);
    },
    async commit(batches) {
      await later();
      return store.commit(batches);
    },
  };
  return new Proxy(store, {
    has: (target, name) => name !== "reads" && name in target,
    get(target, name) {
      if (name in own) return own[name as keyof typeof own];
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  }) as unknown as AsyncPartitionStore;
}

const KINDS: readonly Kind[] = [
  { name: "store at hand", store: (kv) => kv, more: {}, isKeyed: false },
  { name: "… that counts", store: (kv) => kv, more: {}, isKeyed: false, isMetered: true },
  { name: "store behind a network", store: (kv) => behindNetwork(kv), more: {}, isKeyed: false },
  { name: "… with an archive", store: (kv) => behindNetwork(kv), more: { archive: new MemoryArchive() }, isKeyed: false },
  { name: "… that is queried", store: (kv) => behindNetwork(kv), more: { archive: new MemoryArchive() }, isKeyed: true },
];

async function start({
  store,
  more,
  isMetered,
}: Kind): Promise<{ processor: Processor; submit: (command: AttemptCommand) => void }> {
  const peers = new LoopbackPeers();
  let host: InvokerHost | undefined;
  const kv = new MemoryKeyValue();
  const meter = isMetered === true ? await ActionMeter.open(kv, () => "bench") : undefined;
  const processor = await Processor.start(
    {
      store: store(new KvPartitionStore(kv, meter)),
      clock: systemClock,
      logger: silentLogger,
      soon: setImmediate,
      invoker(given) {
        host = given;
        return {
          startRun: () => undefined,
          entryStored: () => undefined,
          stopRun: () => undefined,
          requestPause: () => undefined,
          retryNow: () => undefined,
          finishAttempts: async () => undefined,
          status: () => undefined,
          statuses: () => [],
          [Symbol.asyncDispose]: async () => undefined,
        };
      },
      rules: NO_RULES,
      ...more,
      peers,
      onFenced: () => undefined,
      onFatal: (error) => {
        throw error;
      },
    },
    { partitions: [0], partitionCount: 1, cleanupIntervalMs: 3_600_000 },
  );
  peers.connect(processor);
  return { processor, submit: (command) => host?.submit(command) };
}

/** Microseconds of CPU for each command. */
async function round(kind: Kind, from: number): Promise<number> {
  const { processor, submit } = await start(kind);
  const facts = Array.from({ length: INVOCATIONS }, (_, n) =>
    someFacts({
      id: anId(from + n),
      target: objectTarget(`k${n}`),
      idempotencyKey: kind.isKeyed ? `k${n}` : undefined,
      requestId: from + n,
    }),
  );
  const runs = facts.map((each) => ({
    invoke: invokeOf(each),
    attempt: [pinOf(each.id, 1), setStateOf(each.id, 1, "a", "value"), outputOf(each.id, 1, "done"), endOf(each.id, 1)],
  }));
  globalThis.gc?.();
  const before = process.cpuUsage();
  for (let n = 0; n < INVOCATIONS; n += AT_ONCE) {
    const some = runs.slice(n, n + AT_ONCE);
    await new Promise<void>((resolve) => {
      let left = some.length;
      const answered = (): void => {
        if (--left === 0) resolve();
      };
      for (const { invoke } of some) processor.submit(invoke, { answered });
    });
    for (const { attempt } of some) for (const command of attempt) submit(command);
    while (processor.counters.completed < n + some.length) await new Promise((resolve) => setImmediate(resolve));
  }
  const { user, system } = process.cpuUsage(before);
  await processor[Symbol.asyncDispose]();
  return (user + system) / (INVOCATIONS * COMMANDS);
}

for (const kind of KINDS) {
  const costs: number[] = [];
  for (let n = 0; n < ROUNDS; n++) costs.push(await round(kind, 1 + n * INVOCATIONS));
  costs.sort((a, b) => a - b);
  const [best, median] = [costs[0] as number, costs[ROUNDS >> 1] as number];
  console.log(`${kind.name.padEnd(26)} ${best.toFixed(2).padStart(6)} µs/command best, ${median.toFixed(2)} median`);
}
