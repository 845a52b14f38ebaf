/** What bundles cost the process: how many are made at the same time, and how much of a large journal is read for one. */
import { expect, test } from "@jest/globals";
import { EMPTY_BYTES, type InvocationId } from "@perdure/base";
import { createTestRegistry } from "@perdure/registry/testing";
import { encodeInput, MessageType } from "@perdure/service-protocol";
import { EMPTY_PROGRESS, type Mutation } from "@perdure/state-machine";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import type { InsightSource } from "../src/insight/source.js";
import { BUNDLE_BYTES_MAX, BUNDLE_RETRY_SECONDS, BUNDLES_MAX } from "../src/limits.js";
import { anInvocation, createTestAdminApi, startServer, type TestServer } from "../src/testing/index.js";

const ID = "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz" as InvocationId;
const MIB = 1024 * 1024;
const PATH = `/invocations/${ID}/bundle`;
const INPUT = { type: MessageType.Input, body: encodeInput([], EMPTY_BYTES), appendedAtMs: 0 };

async function serve(length: number, readJournal: InsightSource["store"]["readJournal"]): Promise<TestServer> {
  const stored = { ...anInvocation(ID, "suspended", undefined), journal: { ...EMPTY_PROGRESS, length, commands: length } };
  const insight: InsightSource = {
    partitionCount: 1,
    store: {
      reads: { invocation: () => stored, lock: () => undefined, inbox: () => undefined },
      readJournal,
      events: async () => [],
      stateOf: async () => new Map(),
      flow: async () => ({ pauses: [] }),
    },
    invoker: { status: () => undefined, flowWait: () => undefined },
  };
  return startServer(createTestAdminApi({ registry: await createTestRegistry(), insight }));
}

test("bundles over the bound are refused with OPS0014 and a time to wait, until one is made or has failed", async () => {
  const release = Promise.withResolvers<void>();
  const allInside = Promise.withResolvers<void>();
  let inside = 0;
  await using server = await serve(1, async () => {
    if (++inside === BUNDLES_MAX) allInside.resolve();
    await release.promise;
    if (inside === BUNDLES_MAX) throw new Error("the store failed");
    return [INPUT];
  });
  const made = Array.from({ length: BUNDLES_MAX }, () => server.send("GET", PATH));
  await allInside.promise;
  const refused = await server.send("GET", PATH);
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, String(BUNDLE_RETRY_SECONDS)]);
  expect(refused.json()).toMatchObject({ restate_code: "OPS0014" });
  release.resolve();
  expect((await Promise.all(made)).map(({ status }) => status)).toEqual(Array(BUNDLES_MAX).fill(500));
  expect((await server.send("GET", PATH)).status).toBe(200);
});

/** Counts the bytes of values that are read. */
class CountedReads extends MemoryKeyValue {
  bytes = 0;

  override async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const values = await super.getMany(keys);
    for (const value of values) this.bytes += value?.length ?? 0;
    return values;
  }
}

test("of a journal that is too large for a bundle, little more is read than a bundle may have", async () => {
  const kv = new CountedReads();
  await using store = new KvPartitionStore(kv);
  const epoch = await store.claim(0);
  const entryBytes = 4 * MIB;
  const count = (3 * BUNDLE_BYTES_MAX) / entryBytes;
  const entry = { ...INPUT, body: encodeInput([], new Uint8Array(entryBytes)) };
  const mutations = Array.from({ length: count }, (_, index): Mutation => ({ kind: "appendEntry", id: ID, index, entry }));
  await store.commit([{ partition: 0, epoch, mutations }]);
  await using server = await serve(count, (...args) => store.readJournal(...args));
  kv.bytes = 0;
  const refused = await server.send("GET", PATH);
  expect([refused.status, refused.json<{ restate_code: string }>().restate_code]).toEqual([413, "OPS0011"]);
  expect(kv.bytes).toBeGreaterThan(BUNDLE_BYTES_MAX);
  expect(kv.bytes).toBeLessThan(1.25 * BUNDLE_BYTES_MAX);
});
