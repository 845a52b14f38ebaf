/** A leader on a slow store with an archive that fails on request, for tests of archiving. */
import { type InvocationId, PerdureError, silentLogger } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import type { AttemptCommand, CommandAnswer, Invoke, JournalEntry, PartitionCommand } from "@perdure/state-machine";
import {
  type ArchivedRow,
  type ArchiveFilter,
  type ArchiveOutcome,
  type AsyncPartitionStore,
  archived,
  KvPartitionStore,
  MemoryArchive,
  MemoryKeyValue,
} from "@perdure/storage";
import { behindNetwork } from "@perdure/storage/testing";
import { VirtualClock } from "@perdure/testkit";
import { Archiver } from "../archive/archiver.js";
import { LocalPartitions } from "../callers/local-partitions.js";
import { NO_RULES } from "../flow/flow-control.js";
import { LoopbackPeers } from "../outbox/loopback-peers.js";
import { Processor } from "../processor.js";
import { idleInvoker } from "./idle-invoker.js";

export const flushTasks = async (rounds = 30): Promise<void> => {
  for (let i = 0; i < rounds; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** An archive that responds slowly, and can be unavailable. */
class AbsentArchive extends MemoryArchive {
  isAway = false;
  /** Look-ups, and the responses of completed puts, wait for these. */
  slowFind: Promise<void> = Promise.resolve();
  /** Results of look-ups wait for this after they were read. */
  slowResult: Promise<void> = Promise.resolve();
  slowAnswer: Promise<void> = Promise.resolve();

  async #answer(): Promise<void> {
    await flushTasks(2);
    if (this.isAway) throw new PerdureError("STO0001", "away");
  }

  override async put(...args: Parameters<MemoryArchive["put"]>): Promise<ArchiveOutcome> {
    await this.#answer();
    const outcome = await super.put(...args);
    await this.slowAnswer;
    return outcome;
  }
  override async delete(...args: Parameters<MemoryArchive["delete"]>): Promise<ArchiveOutcome> {
    await this.#answer();
    return super.delete(...args);
  }
  override async find(ids: readonly InvocationId[]): Promise<readonly ArchivedRow[]> {
    await this.#answer();
    await this.slowFind;
    const rows = await super.find(ids);
    await this.slowResult;
    return rows;
  }
  override async journal(id: InvocationId): Promise<readonly JournalEntry[]> {
    await this.#answer();
    return super.journal(id);
  }
  override async *scan(filter: ArchiveFilter): AsyncIterable<readonly ArchivedRow[]> {
    await this.#answer();
    yield* super.scan(filter);
  }
  override async expire(nowMs: number, limit: number): Promise<number> {
    await this.#answer();
    return super.expire(nowMs, limit);
  }
}

/**
 * Starts one leader on a store behind a network. `kv` and `archive` may be those of an earlier leader. Every 100 ms of the time that
 * `advance` lets pass, retention is cleaned and invocations that completed 300 ms ago are archived.
 */
export async function archivingWorld(
  kind: "plain" | "archived",
  kv = new KvPartitionStore(new MemoryKeyValue()),
  archive = new AbsentArchive(),
) {
  const clock = new VirtualClock();
  const store = {
    ...behindNetwork(kv),
    async completedBefore(partition: number, beforeMs: number, limit: number): Promise<readonly InvocationId[]> {
      const ids: InvocationId[] = [];
      for await (const { facts, milestones } of kv.completed(partition))
        if ((milestones.completedAtMs ?? 0) < beforeMs) ids.push(facts.id);
      return ids.slice(0, limit);
    },
  };
  const peers = new LoopbackPeers();
  let host: InvokerHost | undefined;
  const failures: string[] = [];
  const processor = await Processor.start(
    {
      store,
      clock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: (given) => {
        host = given;
        return idleInvoker();
      },
      rules: NO_RULES,
      ...(kind === "archived" ? { archive } : {}),
      peers,
      onFenced: () => failures.push("fenced"),
      onFatal: (error) => failures.push(error.message),
    },
    { partitions: [0], partitionCount: 1, cleanupIntervalMs: 100 },
  );
  peers.connect(processor);
  const archiver =
    kind === "plain"
      ? undefined
      : new Archiver({ store, archive, processor, clock, logger: silentLogger }, { ageMs: 300, intervalMs: 100 });
  const partitions = new LocalPartitions(processor);
  const call = <T>(start: () => Promise<T>): Promise<T | "unavailable"> =>
    start().catch((cause: unknown) => {
      if (PerdureError.from(cause).code !== "STO0002") throw cause;
      return "unavailable";
    });
  const own = {
    kind,
    clock,
    archive,
    failures,
    processor,
    reading: kind === "plain" ? (store as AsyncPartitionStore) : archived(store, archive, () => clock.nowMs()),
    kv,
    describe: (id: InvocationId) => call(() => partitions.describe(id)),
    submit: (command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer | "unavailable"> =>
      call(() => partitions.submit(command)),
    invoke: (command: Invoke): Promise<unknown> =>
      new Promise((resolve) => {
        partitions.invoke(command, false, {
          submitted: resolve,
          completed: resolve,
          unavailable: () => resolve("unavailable"),
        });
      }),
    attempt: (command: AttemptCommand): void => host?.submit(command),
    async advance(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 500) {
        clock.advanceBy(500);
        await flushTasks(60);
      }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const ended = archiver?.[Symbol.asyncDispose]();
      await flushTasks();
      await ended;
      await processor[Symbol.asyncDispose]();
    },
  };
  return own;
}

export type ArchivingWorld = Awaited<ReturnType<typeof archivingWorld>>;
