/** What a statement reads while the leader continues writing. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import type { Invocation, Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { decodeInvocation } from "@perdure/storage";
import { type RedisConnections, RedisSnapshot } from "../src/index.js";
import { connectTo, lead } from "./connected.js";

const owned = new AsyncDisposableStack();
let server: RedisServer;
let redis: RedisConnections;
let partition = 0;
beforeAll(async () => {
  server = owned.use(await startRedis());
  redis = owned.use(await connectTo(server.port));
});
afterAll(() => owned.disposeAsync());

const put = (invocation: Invocation): Mutation => ({ kind: "putInvocation", invocation });
const running = (n: number): Invocation => anInvocation("invoked", { facts: someFacts({ id: anId(n) }) });
const completed = (n: number): Invocation =>
  anInvocation("completed", { facts: someFacts({ id: anId(n), completionRetentionMs: 1000 }) });

async function idsOf(pages: AsyncIterable<readonly Uint8Array[]>): Promise<InvocationId[]> {
  const ids: InvocationId[] = [];
  for await (const rows of pages) for (const row of rows) ids.push(decodeInvocation(row).facts.id);
  return ids.sort();
}

describe("a snapshot of partitions in Redis", () => {
  test("returns the stored form of invocations, in groups and one by one", async () => {
    const { store, put: write } = await lead(redis, ++partition);
    await write(put(running(1)), put(completed(2)));
    await using snapshot = new RedisSnapshot(store);
    expect(await idsOf(snapshot.invocationRows(partition, "unfinished"))).toEqual([anId(1)]);
    expect(await idsOf(snapshot.invocationRows(partition, "completed"))).toEqual([anId(2)]);
    for (const [n, status] of [
      [1, "invoked"],
      [2, "completed"],
    ] as const) {
      const row = (await snapshot.invocationRow(partition, anId(n))) as Uint8Array;
      expect(decodeInvocation(row)).toMatchObject({ status, facts: { id: anId(n) } });
    }
    expect(await snapshot.invocationRow(partition, anId(3))).toBeUndefined();
  });

  test("returns no invocation twice because it completed in between", async () => {
    const { store, put: write } = await lead(redis, ++partition);
    await write(put(running(1)), put(running(2)));
    await using snapshot = new RedisSnapshot(store);
    expect(await idsOf(snapshot.invocationRows(partition, "unfinished"))).toEqual([anId(1), anId(2)].sort());
    await write(put(completed(1)), put(completed(3)));
    expect(await idsOf(snapshot.invocationRows(partition, "completed"))).toEqual([anId(3)]);
    await using later = new RedisSnapshot(store);
    expect(await idsOf(later.invocationRows(partition, "unfinished"))).toEqual([anId(2)]);
    expect(await idsOf(later.invocationRows(partition, "completed"))).toEqual([anId(1), anId(3)].sort());
  });
});
