import { afterEach, describe, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock } from "@perdure/base";
import { bareOf, NO_USAGE, newEnvironmentId, type TenancyChange } from "@perdure/cloud";
import { exampleEnvironment, MemoryTenancy } from "@perdure/cloud/testing";
import { openChannel, RemoteTenancy, tenancyDefinition, tenancyHandlers } from "../src/index.js";
import { TestServer } from "../src/testing/index.js";

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

async function serve(tenancy: MemoryTenancy, port = 0): Promise<TestServer> {
  const server = await TestServer.start(tenancyDefinition, tenancyHandlers(tenancy, silentLogger), { port });
  opened.push(() => server.stop());
  return server;
}

function connect(...ports: number[]): RemoteTenancy {
  const channels = ports.map((port) => openChannel(`127.0.0.1:${port}`, undefined));
  opened.push(() => {
    for (const channel of channels) channel.close();
  });
  return new RemoteTenancy({ channels, clock: systemClock, logger: silentLogger });
}

/** Collects change events; `next` waits for one more. */
function listen(remote: RemoteTenancy) {
  const received: TenancyChange[] = [];
  let wake: () => void = () => undefined;
  const stop = new AbortController();
  opened.push(() => stop.abort());
  remote.watch(
    (event) => {
      received.push(event);
      wake();
    },
    { signal: stop.signal },
  );
  const until = async (count: number): Promise<readonly TenancyChange[]> => {
    while (received.length < count)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return received;
  };
  return { until, stop };
}

describe("tenancy in another process", () => {
  test("answers as tenancy does, with secrets where they belong", async () => {
    const tenancy = new MemoryTenancy();
    const remote = connect((await serve(tenancy)).port);
    const upstream = { ingress: "http://127.0.0.1:1", admin: "http://127.0.0.1:2", secret: new Secret("s3") };
    const one = tenancy.put(exampleEnvironment({ upstream }));
    const two = tenancy.put(exampleEnvironment({ upstream: undefined, status: "PENDING" }));
    const environment = await remote.environment(bareOf(one.id));
    expect(environment).toEqual(one);
    expect(environment?.upstream?.secret?.reveal()).toBe("s3");
    expect(await remote.environments()).toEqual([one, two]);
    expect(await remote.environment(bareOf(newEnvironmentId(1, { ...randomOf(7) })))).toBeUndefined();
    const key = tenancy.addKey(one.id, "rst:role::AdminAccess", 5);
    expect(await remote.authenticate(key, one.id)).toEqual(await tenancy.authenticate(key, one.id));
    expect(await remote.authenticate(key, two.id)).toEqual({ kind: "elsewhere" });
    expect(await remote.authenticate("key_x", two.id)).toEqual({ kind: "unknown" });
    tenancy.runtimes.set("token", two.id);
    expect([await remote.runtimeOf("token"), await remote.runtimeOf("other")]).toEqual([two.id, undefined]);
  });

  test("takes reports", async () => {
    const tenancy = new MemoryTenancy();
    const remote = connect((await serve(tenancy)).port);
    const { id } = exampleEnvironment();
    const report = { source: "g1", environmentId: id, atMs: 5, totals: { ...NO_USAGE, bytesIn: 9 } };
    await remote.report([report]);
    expect(tenancy.reports).toEqual([report]);
    const demands = [{ environmentId: id, door: "admin" as const, perSecond: 3 }];
    expect(await remote.shareRates({ gateway: "g1", region: "us", demands })).toEqual({
      gateways: 1,
      shares: [{ environmentId: id, door: "admin", share: 1 }],
    });
    await remote.reportTunnels({ relay: "r", atMs: 1, connections: [] });
    expect(tenancy.tunnels.get("r")).toEqual({ relay: "r", atMs: 1, connections: [] });
  });

  test("reports change events, and after a gap that some may have been missed", async () => {
    const tenancy = new MemoryTenancy();
    const first = await serve(tenancy);
    const events = listen(connect(first.port));
    await events.until(1);
    const { id } = tenancy.put(exampleEnvironment());
    await events.until(3); // `everything` comes from the server and from the memory alike.
    first.stop();
    await serve(tenancy, first.port);
    const received = await events.until(4);
    expect(received.at(-1)).toEqual({ kind: "everything" });
    expect(received).toContainEqual({ kind: "environment", id });
    events.stop.abort();
  });

  test("is called at another process when one is gone, and fails with TEN0001 when all are", async () => {
    const tenancy = new MemoryTenancy();
    const { id } = tenancy.put(exampleEnvironment());
    const [one, two] = [await serve(tenancy), await serve(tenancy)];
    const remote = connect(one.port, two.port);
    expect(await remote.environments()).toHaveLength(1);
    one.stop();
    for (let n = 0; n < 3; n++) expect(await remote.environments()).toHaveLength(1);
    two.stop();
    await expect(remote.authenticate("key_x", id)).rejects.toMatchObject({ code: "TEN0001" });
  });

  test("fails with TEN0001 when tenancy itself cannot answer", async () => {
    const tenancy = new MemoryTenancy();
    const remote = connect((await serve(tenancy)).port);
    tenancy.isAway = true;
    await expect(remote.environments()).rejects.toMatchObject({ code: "TEN0001" });
  });
});

function randomOf(byte: number) {
  return { bytes: (into: Uint8Array) => void into.fill(byte), uint32: () => byte, float: () => 0 };
}
