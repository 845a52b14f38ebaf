/** The record of a data set in memory, and partitions that carry its mark: new, old, lost, foreign, restored, and half-way through. */
import { describe, expect, test } from "@jest/globals";
import { PerdureError, silentLogger } from "@perdure/base";
import { createMemoryMetadataStore, readDataSet } from "@perdure/metadata";
import { INSTANCE_EPOCHS, type PlacedMarks, type ReplacedData } from "@perdure/redis";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { acceptLoss } from "./accept-loss.js";
import {
  type AgreedDataSet,
  type AgreementOptions,
  agreeOnDataSet,
  type DataSetMismatch,
  type MarkedPartitions,
} from "./agreement.js";

/** Redis, as far as marks go. It breaks off before its `failsAt`th mark or read. */
class Partitions implements MarkedPartitions {
  number: number | undefined;
  stored: (string | undefined)[] = [];
  epochs: number[] = [];
  incarnation: string | undefined;
  failsAt = Number.POSITIVE_INFINITY;
  #calls = 0;

  async count() {
    this.#mayFail();
    return this.number;
  }

  async agreeOnCount(count: number) {
    this.#mayFail();
    this.number ??= count;
    return this.number;
  }

  async marks(count: number) {
    this.#mayFail();
    return Array.from({ length: count }, (_, partition) => this.stored[partition]);
  }

  async place(count: number, mark: string, replaces: ReplacedData | undefined): Promise<PlacedMarks> {
    let epochMax = 0;
    for (let partition = 0; partition < count; partition++) {
      await Promise.resolve(); // Other processes run in between.
      this.#mayFail();
      const present = this.stored[partition];
      const epoch = this.epochs[partition] ?? 0;
      if (present !== mark && replaces !== undefined) {
        this.epochs[partition] = Math.max(epoch, replaces.epochBase) + INSTANCE_EPOCHS;
        this.incarnation = replaces.instance;
      } else if (present !== undefined && present !== mark) return { kind: "foreign", mark: present };
      this.stored[partition] = mark;
      epochMax = Math.max(epochMax, this.epochs[partition] ?? 0);
    }
    return { kind: "placed", epochMax };
  }

  /** As a server that starts on an empty folder. */
  empty(): void {
    this.number = undefined;
    this.stored = [];
    this.epochs = [];
    this.incarnation = undefined;
  }

  #mayFail(): void {
    if (++this.#calls >= this.failsAt) throw new PerdureError("STO0001", "Redis is away");
  }

  failAfter(calls: number): void {
    this.#calls = 0;
    this.failsAt = calls;
  }
}

function world() {
  const metadata = createMemoryMetadataStore();
  const partitions = new Partitions();
  const random = new SeededRandom(1);
  const ports = { metadata, partitions, clock: new VirtualClock(), random, logger: silentLogger };
  const start = (
    options: Partial<AgreementOptions> = {},
    of: Partial<typeof ports> = {},
  ): Promise<AgreedDataSet | DataSetMismatch> =>
    agreeOnDataSet({ ...ports, ...of }, { partitionCount: 3, incarnation: undefined, acceptDataLoss: undefined, ...options });
  const record = async () => (await readDataSet(metadata)) as NonNullable<Awaited<ReturnType<typeof readDataSet>>>;
  const agreed = async (options: Partial<AgreementOptions> = {}): Promise<AgreedDataSet> => {
    const outcome = await start(options);
    expect(outcome.kind).toBe("agreed");
    return outcome as AgreedDataSet;
  };
  const refused = async (options: Partial<AgreementOptions> = {}): Promise<DataSetMismatch> => {
    const outcome = await start(options);
    expect(outcome.kind).toBe("mismatch");
    return outcome as DataSetMismatch;
  };
  const accept = (lost: string) => acceptLoss(ports, lost);
  return { metadata, partitions, start, record, agreed, refused, accept };
}

describe("an environment without a record", () => {
  test("is new: its partitions get a mark, and a worker that starts later finds the same", async () => {
    const { partitions, agreed, record } = world();
    const { id, partitionCount } = await agreed();
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(partitionCount).toBe(3);
    expect(partitions.stored).toEqual([id, id, id]);
    expect(await record()).toMatchObject({ id, state: "established", accepted: [], incarnations: [] });
    expect(await agreed({ partitionCount: 9 })).toEqual({ kind: "agreed", id, partitionCount: 3, incarnation: undefined });
  });

  test("has data of the version before: they are kept, with their number of partitions and their epochs", async () => {
    const { partitions, agreed, record } = world();
    partitions.number = 2;
    partitions.epochs = [4, 17];
    const { id } = await agreed();
    expect(partitions.stored).toEqual([id, id]);
    expect(partitions.epochs).toEqual([4, 17]);
    expect(await record()).toMatchObject({ partitionCount: 2, epochBase: 17 });
  });

  test("is refused when Redis carries the mark of one, until that is accepted", async () => {
    const { partitions, refused, agreed } = world();
    partitions.stored = [undefined, "theirs"];
    expect(await refused()).toMatchObject({ mark: "theirs", detail: expect.stringContaining("no record") });
    expect(await refused({ acceptDataLoss: "ours" })).toMatchObject({ mark: "theirs" });
    const { id } = await agreed({ acceptDataLoss: "theirs" });
    expect(partitions.stored).toEqual([id, id, id]);
  });

  test("agrees on one data set among workers that start together", async () => {
    for (let together = 2; together <= 5; together++) {
      const { partitions, start, record } = world();
      const seeds = Array.from({ length: together }, (_, n) => new SeededRandom(n + 10));
      const outcomes = await Promise.all(seeds.map((random) => start({}, { random })));
      const { id } = await record();
      for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: "agreed", id });
      expect(partitions.stored).toEqual([id, id, id]);
    }
  });

  test("is finished by the next start, wherever the first one stopped", async () => {
    let stops = 0;
    for (let calls = 1; ; calls++) {
      const { partitions, start, agreed } = world();
      partitions.failAfter(calls);
      const first = await start().catch((cause: unknown) => cause);
      partitions.failAfter(Number.POSITIVE_INFINITY);
      const { id } = await agreed();
      expect(partitions.stored).toEqual([id, id, id]);
      if (!(first instanceof Error)) break;
      stops++;
    }
    expect(stops).toBeGreaterThan(6);
  });
});

describe("an environment with recorded data", () => {
  test("is refused on an empty store, on a foreign one and on one that lost a partition; the right one heals it", async () => {
    const { partitions, agreed, refused } = world();
    const { id } = await agreed();
    const kept = { stored: [...partitions.stored], number: partitions.number };
    partitions.empty();
    expect(await refused()).toMatchObject({ mark: id, detail: expect.stringContaining("3 of 3 partitions") });
    expect(partitions.stored).toEqual([]);
    expect(partitions.number).toBe(undefined);
    partitions.stored = ["theirs", "theirs", "theirs"];
    expect(await refused()).toMatchObject({ mark: id, detail: expect.stringContaining("one carries theirs") });
    partitions.stored = [id, undefined, id];
    expect(await refused()).toMatchObject({ detail: expect.stringContaining("1 of 3 partitions") });
    Object.assign(partitions, { ...kept, number: 4 });
    expect(await refused()).toMatchObject({ detail: expect.stringContaining("4 partitions and PostgreSQL records 3") });
    Object.assign(partitions, kept);
    expect((await agreed()).id).toBe(id);
  });

  test("continues without the lost data once their mark is given, beyond every earlier epoch, and once only", async () => {
    const { partitions, agreed, refused, record } = world();
    partitions.epochs = [5, 5, 5];
    const lost = (await agreed()).id;
    partitions.epochs = [90, 80, 70]; // Leaders came and went.
    partitions.empty();
    await refused({ acceptDataLoss: "not this one" });
    const after = await agreed({ acceptDataLoss: lost });
    expect(after.id).not.toBe(lost);
    expect(after.incarnation).toBe(after.id);
    expect(partitions.incarnation).toBe(after.id);
    expect(Math.min(...partitions.epochs)).toBeGreaterThan(INSTANCE_EPOCHS);
    expect(await record()).toMatchObject({
      accepted: [{ lostId: lost, reason: "accept-data-loss", atMs: expect.any(Number) }],
    });
    const epochs = [...partitions.epochs];
    partitions.empty();
    await refused({ acceptDataLoss: lost }); // The setting was not removed.
    await agreed({ acceptDataLoss: after.id });
    expect(Math.min(...partitions.epochs)).toBeGreaterThanOrEqual(Math.max(...epochs) + INSTANCE_EPOCHS);
  });

  test("is replaced by the next start, wherever the one that accepted the loss stopped", async () => {
    let stops = 0;
    for (let calls = 1; ; calls++) {
      const { partitions, start, agreed } = world();
      const lost = (await agreed()).id;
      partitions.empty();
      partitions.failAfter(calls);
      const acceptDataLoss = lost;
      const first = await start({ acceptDataLoss }).catch((cause: unknown) => cause);
      partitions.failAfter(Number.POSITIVE_INFINITY);
      const { id } = await agreed({ acceptDataLoss });
      expect(id).not.toBe(lost);
      expect(partitions.stored).toEqual([id, id, id]);
      if (!(first instanceof Error)) break;
      stops++;
    }
    expect(stops).toBeGreaterThan(6);
  });
});

describe("the command that accepts a loss", () => {
  test("gives the partitions a new mark when it names the lost one, and does nothing more when it is repeated", async () => {
    const { partitions, agreed, accept, record } = world();
    const { id: lost } = await agreed();
    partitions.empty();
    await expect(accept("another")).rejects.toMatchObject({ code: "STO0005", detail: expect.stringContaining(lost) });
    expect(partitions.stored).toEqual([]);
    const { kind, mark } = await accept(lost);
    expect(kind).toBe("accepted");
    expect(partitions.stored).toEqual([mark, mark, mark]);
    expect((await agreed()).id).toBe(mark);
    const written = await record();
    expect(written.accepted).toEqual([{ lostId: lost, reason: "accept-data-loss", atMs: expect.any(Number) }]);
    expect(await accept(lost)).toEqual({ kind: "acceptedBefore", mark });
    expect(await record()).toEqual(written);
  });

  test("is refused while the data are there, and in an environment that has no mark yet; nothing is written", async () => {
    const { partitions, agreed, accept, record } = world();
    await expect(accept("any")).rejects.toMatchObject({ code: "OPS0001" });
    partitions.number = 3;
    await expect(accept("any")).rejects.toMatchObject({ code: "OPS0001" });
    expect(await record()).toBeUndefined();
    expect(partitions.stored).toEqual([]);
    const { id } = await agreed();
    const before = await record();
    await expect(accept(id)).rejects.toMatchObject({ code: "OPS0001", detail: expect.stringContaining("no loss") });
    expect(await record()).toEqual(before);
  });

  test("accepts a lost record by the mark that the partitions carry", async () => {
    const { partitions, agreed, accept } = world();
    partitions.stored = ["theirs", "theirs", "theirs"];
    partitions.number = 3;
    await expect(accept("ours")).rejects.toMatchObject({ code: "STO0005", detail: expect.stringContaining("theirs") });
    const { kind, mark } = await accept("theirs");
    expect(kind).toBe("accepted");
    expect((await agreed()).id).toBe(mark);
  });
});

describe("a restored environment", () => {
  test("accepts other data once for each name of its incarnation", async () => {
    const { partitions, agreed, refused, record } = world();
    const before = await agreed();
    partitions.stored = ["of the snapshot", "of the snapshot", "of the snapshot"];
    const restored = await agreed({ incarnation: "uid-2" });
    expect(restored.id).not.toBe(before.id);
    expect(restored.incarnation).toBe(`uid-2.${restored.id}`);
    expect(await record()).toMatchObject({ accepted: [{ lostId: before.id, reason: "incarnation uid-2" }] });
    partitions.empty();
    expect(await refused({ incarnation: "uid-2" })).toMatchObject({ mark: restored.id });
  });

  test("keeps its mark where the snapshot carries it, and all workers begin under the name that was recorded last", async () => {
    const { agreed, record } = world();
    const { id } = await agreed();
    expect(await agreed({ incarnation: "uid-2" })).toMatchObject({ id, incarnation: "uid-2" });
    expect((await record()).epochBase).toBe(INSTANCE_EPOCHS);
    expect(await agreed({ incarnation: "uid-3" })).toMatchObject({ id, incarnation: "uid-3" });
    expect(await agreed({ incarnation: "uid-2" })).toMatchObject({ id, incarnation: "uid-3" });
    expect(await agreed()).toMatchObject({ id, incarnation: "uid-3" });
  });
});
