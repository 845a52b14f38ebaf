/** State with a time to live in a cluster: the next leader of a killed worker's partitions removes it at its time, and nothing else. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { hashString, partitionOfKey } from "@perdure/base";
import { DevCluster } from "@perdure/dev-cluster";
import { eventually, SdkEndpoint, StubbornClient, TestAdminClient } from "../../src/index.js";
import { sessionObject } from "../../src/services/expiring.js";

/** The programs may have to be built first. */
const START_MS = 300_000;
const WHOLE_TEST_MS = 120_000;
const PARTITION_COUNT = 24;
/** Well above the 3 s within which partitions of a killed worker have a new leader. */
const TTL_MS = 10_000;
/** Delay of a busy machine at the most. */
const DELAY_MS_MAX = 3_000;

let cluster: DevCluster;
let endpoint: SdkEndpoint;
let admin: TestAdminClient;
beforeAll(async () => {
  cluster = await DevCluster.start({ workers: 2, gateways: 1 });
  endpoint = await SdkEndpoint.start({ services: [sessionObject], kind: "h2-bidi" });
  admin = new TestAdminClient(cluster.adminUrl);
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
  const changed = await admin.http.request("PATCH", "/services/Session", { json: { state_ttl: `${TTL_MS}ms` } });
  expect(changed.status).toBe(200);
}, START_MS);
afterAll(async () => {
  admin?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
}, 60_000);

/** Names of the leaders by partition; undefined while a partition has none. */
async function leaders(): Promise<ReadonlyMap<number, string> | undefined> {
  const rows = await admin.query("SELECT id, leader FROM sys_partition WHERE status = 'leading'");
  // The id of a process is its name, `worker1`, and a random part.
  const nameOf = (leader: unknown): string => String(leader).split("-")[0] as string;
  return rows.length === PARTITION_COUNT ? new Map(rows.map(({ id, leader }) => [Number(id), nameOf(leader)])) : undefined;
}

/** As `leaders`, once both workers lead as many: no partition moves any more. */
async function balancedLeaders(): Promise<ReadonlyMap<number, string> | undefined> {
  const byPartition = await leaders();
  const names = [...(byPartition?.values() ?? [])];
  return names.filter((name) => name === names[0]).length === PARTITION_COUNT / 2 ? byPartition : undefined;
}

const leaderOf = (key: string, byPartition: ReadonlyMap<number, string>): string | undefined =>
  byPartition.get(partitionOfKey(hashString(key), PARTITION_COUNT));

/** The first keys `<prefix> 0`, `<prefix> 1` … of objects that this worker leads. */
function keysOfLeader(
  leader: string,
  prefix: string,
  count: number,
  byPartition: ReadonlyMap<number, string>,
): readonly string[] {
  const keys = Array.from({ length: 100 * count }, (_, index) => `${prefix} ${index}`);
  return keys.filter((key) => leaderOf(key, byPartition) === leader).slice(0, count);
}

async function keysWithState(): Promise<readonly string[]> {
  const rows = await admin.query("SELECT DISTINCT service_key FROM state WHERE service_name = 'Session' ORDER BY service_key");
  return rows.map(({ service_key: key }) => String(key));
}

/** When the state of each object expires, in milliseconds since 1970. */
async function dueTimes(): Promise<ReadonlyMap<string, number>> {
  const rows = await admin.query("SELECT service_key, expires_at FROM sys_state_expiry WHERE service_name = 'Session'");
  return new Map(rows.map(({ service_key: key, expires_at: at }) => [String(key), Date.parse(String(at))]));
}

async function expiredCount(worker: DevCluster["workers"][number]): Promise<number> {
  const { probes } = await worker.ready();
  const text = await (await fetch(String(probes).replace("localhost", "127.0.0.1").replace("/readyz", "/metrics"))).text();
  return Number(/^perdure_worker_state_expired_total (\d+)$/m.exec(text)?.[1]);
}

test(
  "state expires at its time although its leader was killed, once, and state that was used again stays",
  async () => {
    const [killed, heir] = cluster.workers;
    if (killed === undefined || heir === undefined) throw new Error("there are two workers");
    using client = new StubbornClient(cluster.ingressUrls[0] as string);
    const put = (keys: readonly string[], entries: Readonly<Record<string, number>>, round: string) =>
      Promise.all(keys.map((key) => client.call(["Session", key, "put"], entries, `${round} ${key}`)));
    const take = (key: string) => client.call(["Session", key, "take"], null, `take ${key}`);

    const before = await eventually("both lead as many", balancedLeaders, 30_000);
    const idle = [...keysOfLeader("worker1", "idle", 3, before), ...keysOfLeader("worker2", "idle", 2, before)].sort();
    const used = [...keysOfLeader("worker1", "used", 2, before), ...keysOfLeader("worker2", "used", 1, before)].sort();
    expect([idle.length, used.length]).toEqual([5, 3]);
    await put([...idle, ...used], { a: 1 }, "first");
    const due = await dueTimes();
    expect([...due.keys()].sort()).toEqual([...idle, ...used]);
    const firstDueAtMs = Math.min(...due.values());
    await killed.kill();
    await eventually("the other one leads all", async () => new Set((await leaders())?.values()).size === 1);
    // Seconds after the first time, so that this state outlives the idle one.
    await put(used, { b: 2 }, "second");
    const atKill = await keysWithState();
    expect(Date.now()).toBeLessThan(firstDueAtMs);
    expect(atKill).toEqual([...idle, ...used]);

    const early = new Set<string>();
    await eventually(
      "the idle state is gone",
      async () => {
        const left = await keysWithState();
        for (const key of idle) if (!left.includes(key) && Date.now() < (due.get(key) ?? 0)) early.add(key);
        return idle.every((key) => !left.includes(key));
      },
      2 * TTL_MS,
    );
    expect([...early]).toEqual([]);
    expect(Date.now()).toBeLessThan(Math.max(...idle.map((key) => due.get(key) ?? 0)) + DELAY_MS_MAX);
    const renewed = await dueTimes();
    expect([await keysWithState(), [...renewed.keys()].sort()]).toEqual([used, used]);
    for (const key of used) expect(renewed.get(key)).toBeGreaterThan(due.get(key) ?? 0);
    expect(await expiredCount(heir)).toBe(idle.length);
    for (const key of idle) expect(await take(key)).toEqual({});
    for (const key of used) expect(await take(key)).toEqual({ a: 1, b: 2 });
  },
  WHOLE_TEST_MS,
);
