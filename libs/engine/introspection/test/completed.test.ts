/** Statements over completed invocations that the process keeps return what they return when all is read from the store. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { fromUtf8, type InvocationId, newInvocationId, partitionOf, silentLogger, systemClock, utf8 } from "@perdure/base";
import type { Invocation, Mutation, Target } from "@perdure/state-machine";
import { type AsyncCompletedChanges, CompletedChanges, KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { arbitraryInvocation } from "@perdure/storage/testing";
import { SeededRandom } from "@perdure/testkit";
import fc from "fast-check";
import { CompletedCache } from "../src/completed/cache.js";
import { createSqlEngine } from "../src/engine.js";
import { liveRowsOf } from "../src/live.js";
import type { SqlEngine } from "../src/options.js";
import type { IntrospectionSource } from "../src/ports.js";
import { request } from "./querying.js";
import { common, NOW, PARTITIONS, registryRows } from "./stored-rows.js";

const BYTES_MAX = 16 * 1024 * 1024;

/** A store whose completed invocations a cache keeps, or does not. */
class Stored {
  readonly kv = new MemoryKeyValue();
  readonly changes = new CompletedChanges();
  /** How statements read the record of the changes. */
  record: AsyncCompletedChanges = this.changes;
  readonly cache: CompletedCache;
  readonly store = new KvPartitionStore(this.changes.recorded(this.kv));
  readonly #epochs: number[] = [];
  /** Ranges of completed invocations that were read from the store. */
  completedScans = 0;

  constructor(bytesMax = BYTES_MAX) {
    this.cache = new CompletedCache(bytesMax);
  }

  async commit(mutations: readonly (readonly [InvocationId, Mutation])[]): Promise<void> {
    for (let partition = this.#epochs.length; partition < PARTITIONS; partition++)
      this.#epochs.push(await this.store.claim(partition));
    for (const [partition, epoch] of this.#epochs.entries()) {
      const own = mutations.filter(([id]) => partitionOf(id, PARTITIONS) === partition).map(([, mutation]) => mutation);
      if (own.length > 0) await this.store.commit([{ partition, epoch, mutations: own }]);
    }
  }

  put(...invocations: readonly Invocation[]): Promise<void> {
    return this.commit(invocations.map((invocation) => [invocation.facts.id, { kind: "putInvocation", invocation }]));
  }

  remove(...ids: readonly InvocationId[]): Promise<void> {
    return this.commit(ids.map((id) => [id, { kind: "deleteInvocation", id }]));
  }

  source(isKept: boolean): IntrospectionSource {
    const changesAt = this.changes.position() ?? Number.NaN;
    const live = liveRowsOf({
      invoker: { status: () => undefined, statuses: () => [] },
      registry: registryRows(),
      flow: {
        flowRows: () => ({ queues: [], entries: [], limits: [], buckets: [] }),
        flowLimits: () => ({ limits: [], buckets: [] }),
      },
      completedChanges: this.record,
      partitionCount: PARTITIONS,
      clock: systemClock,
    });
    const completed = isKept ? this.cache.view({ changesAt, snapshot: this.kv, live }) : undefined;
    return { partitionCount: PARTITIONS, isOneMoment: true, store: this.#counting(), live, completed };
  }

  #counting(): IntrospectionSource["store"] {
    const { store } = this;
    return Object.assign(Object.create(store) as KvPartitionStore, {
      readJournal: store.readJournal.bind(store),
      events: store.events.bind(store),
      invocationRow: store.invocationRow.bind(store),
      invocationRows: (partition: number, group: "unfinished" | "completed") => {
        if (group === "completed") this.completedScans++;
        return store.invocationRows(partition, group);
      },
    });
  }
}

let stored = new Stored();
let kept: SqlEngine;
let plain: SqlEngine;
beforeAll(() => {
  const engine = (isKept: boolean): SqlEngine => {
    const source = { open: () => ({ ...stored.source(isKept), [Symbol.asyncDispose]: async () => undefined }) };
    return createSqlEngine({ source, clock: systemClock, logger: silentLogger });
  };
  kept = engine(true);
  plain = engine(false);
});
afterAll(async () => {
  await kept[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
});

/** Encoded rows, or the refusal. */
async function resultOf(engine: SqlEngine, sql: string): Promise<string> {
  try {
    return fromUtf8(await request(engine, sql, "json"));
  } catch (cause) {
    return String(cause);
  }
}

async function expectSame(statements: readonly string[]): Promise<void> {
  for (const sql of statements) expect([sql, await resultOf(kept, sql)]).toEqual([sql, await resultOf(plain, sql)]);
}

/** Each orders its rows completely. `$service` and `$id` occur in the data. */
const STATEMENTS = [
  "SELECT COUNT(*) FROM sys_invocation",
  "SELECT COUNT(*) FROM sys_invocation_status WHERE status != 'completed'",
  "SELECT status, COUNT(*) AS n FROM sys_invocation GROUP BY status ORDER BY status",
  "SELECT target_service_name, status, COUNT(*), MIN(created_at) FROM sys_invocation GROUP BY 1, 2 ORDER BY ALL",
  "SELECT * FROM sys_invocation ORDER BY id",
  "SELECT * FROM sys_invocation_status ORDER BY id",
  "SELECT * FROM sys_invocation ORDER BY created_at DESC, id LIMIT 3",
  "SELECT * FROM sys_invocation ORDER BY completed_at, id LIMIT 4 OFFSET 1",
  "SELECT id, modified_at FROM sys_invocation WHERE target_service_name = '$service' ORDER BY modified_at, id LIMIT 5",
  "SELECT id, target FROM sys_invocation WHERE target_service_name != '$service' AND status = 'completed' ORDER BY id",
  "SELECT id, partition_key, journal_size FROM sys_invocation WHERE pinned_service_protocol_version IN (5, 6) ORDER BY id",
  "SELECT id, completion_failure FROM sys_invocation WHERE completion_result = 'failure' ORDER BY id",
  "SELECT COUNT(*) FROM sys_invocation WHERE id IN ('$id', 'inv_none')",
  "SELECT a.id, b.created_at FROM sys_invocation a JOIN sys_invocation_status b ON a.id = b.id ORDER BY a.id",
  "SELECT id, index FROM sys_journal ORDER BY id, index",
  "SELECT string_agg(id, ' ' ORDER BY id) FROM sys_invocation WHERE scope IS NULL",
];

describe("statements over kept invocations", () => {
  test("return what they return without them, whatever is completed, changed and deleted in between", async () => {
    const step = fc.record({
      put: fc.array(arbitraryInvocation, { maxLength: 12 }),
      changed: fc.array(fc.tuple(fc.nat(), arbitraryInvocation), { maxLength: 6 }),
      removed: fc.array(fc.nat(), { maxLength: 6 }),
    });
    const property = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 3 }), async (steps) => {
      stored = new Stored();
      const ids: InvocationId[] = [];
      for (const { put, changed, removed } of steps) {
        await stored.put(...put);
        for (const { facts } of put) ids.push(facts.id);
        if (ids.length === 0) continue;
        const idAt = (n: number): InvocationId => ids[n % ids.length] as InvocationId;
        // The same id again: another status, or another invocation of an idempotency key.
        for (const [n, other] of changed)
          await stored.put({ ...other, facts: { ...other.facts, id: idAt(n), bytes: undefined } });
        await stored.remove(...removed.map(idAt));
        const service = put[0]?.facts.target.service.replaceAll("'", "''") ?? "Greeter";
        await expectSame(STATEMENTS.map((sql) => sql.replace("$service", () => service).replace("$id", idAt(0))));
      }
    });
    await fc.assert(property, { numRuns: 2, seed: 17, endOnFailure: true });
  }, 240_000);

  test.each(["in this thread", "in others"])("read from the store only what changed since the last one %s", async (where) => {
    stored = new Stored();
    const { changes } = stored;
    if (where === "in others") stored.record = { position: NEVER, since: async (position) => changes.since(position) };
    const [first, second, third] = [aCompleted(1), aCompleted(2), aCompleted(3)];
    await stored.put(first, second);
    await resultOf(kept, "SELECT COUNT(*) FROM sys_invocation");
    expect(stored.completedScans).toBe(PARTITIONS);
    await stored.put(third);
    await stored.remove(first.facts.id);
    const [at] = [await resultOf(kept, "SELECT COUNT(*) AS n FROM sys_invocation WHERE status = 'completed'")];
    expect(at).toBe('{"rows":[{"n":2}]}');
    expect(stored.completedScans).toBe(PARTITIONS);
  });

  test("read everything when the record of another thread does not reach so far back", async () => {
    stored = new Stored();
    stored.record = { position: NEVER, since: async () => undefined };
    await stored.put(aCompleted(1), aCompleted(2));
    for (let n = 1; n < 3; n++) {
      expect(await resultOf(kept, "SELECT COUNT(*) AS n FROM sys_invocation")).toBe('{"rows":[{"n":2}]}');
      expect(stored.completedScans).toBe(n * PARTITIONS);
    }
  });

  test("keep pace with thousands of changes, and drop rows that are gone", async () => {
    stored = new Stored();
    const all = Array.from({ length: 8_000 }, (_, n) => aCompleted(n));
    await stored.put(...all);
    const statements = [
      "SELECT COUNT(*), MIN(id), MAX(created_at) FROM sys_invocation",
      "SELECT id FROM sys_invocation ORDER BY created_at DESC, id LIMIT 3",
    ];
    await expectSame(statements);
    await stored.remove(...all.slice(0, 6_500).map(({ facts }) => facts.id));
    await expectSame(statements); // The dead rows are marked.
    await stored.put(...all.slice(5_000, 6_000));
    await expectSame(statements); // They are gone.
    expect(stored.completedScans).toBe(3 * PARTITIONS * statements.length + PARTITIONS);
  });

  test("that exceed the bound are read from the store", async () => {
    stored = new Stored(100_000);
    await stored.put(...Array.from({ length: 2_000 }, (_, n) => aCompleted(n)));
    for (let n = 1; n < 4; n++) {
      expect(await resultOf(kept, "SELECT COUNT(*) AS n FROM sys_invocation")).toBe('{"rows":[{"n":2000}]}');
      expect(stored.completedScans).toBe(n * PARTITIONS);
    }
  });

  test("do not keep results: an invocation with ten megabytes takes as much as one without", async () => {
    stored = new Stored(1_000_000);
    const large = { kind: "success", value: new Uint8Array(10_000_000) } as const;
    await stored.put(
      ...Array.from({ length: 3 }, (_, n): Invocation => ({ ...aCompleted(n), status: "completed", outcome: large })),
    );
    await expectSame(["SELECT * FROM sys_invocation ORDER BY id"]);
    const scans = stored.completedScans;
    await resultOf(kept, "SELECT COUNT(*) FROM sys_invocation");
    expect(stored.completedScans).toBe(scans);
  });
});

/** `Stored` requests positions of its own. */
const NEVER = () => {
  throw new Error("no position is requested");
};
const random = new SeededRandom(17);

function aCompleted(n: number): Invocation {
  const target: Target = {
    scope: undefined,
    service: `Service${n % 3}`,
    key: undefined,
    handler: "handle",
    serviceType: "service",
    handlerType: "shared",
  };
  const made = common(newInvocationId(target, NOW, random), target, 1);
  const facts = { ...made.facts, createdAtMs: NOW + ((n * 7919) % 1_000) };
  return { ...made, facts, status: "completed", outcome: { kind: "success", value: utf8("1") } };
}
