/** Behind a proxy that the operator trusts, limits per network are those of its clients (cloud.md §6.5). Time is virtual. */
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import { until, VirtualClock } from "@perdure/testkit";
import { NETWORK_LIMITS } from "../src/limits.js";
import type { GatewayOptions } from "../src/ports.js";
import type { Http } from "./client.js";
import { bearer, type GatewayFixture, startGateway, startRuntime, type TestRuntime, valuesOf } from "./fixture.js";

const PROXY = new TrustedProxies(["127.0.0.0/8", "::1/128"], "x-forwarded-for");
const [ADA, BOB] = ["203.0.113.7", "2001:db8:0:1::7"] as const;

let runtime: TestRuntime;
let clock: VirtualClock;
let fixture: GatewayFixture | undefined;
let facts: EnvironmentFacts;
beforeEach(async () => {
  runtime = await startRuntime();
  clock = new VirtualClock();
});
afterEach(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

async function open(options: Partial<GatewayOptions>): Promise<GatewayFixture> {
  fixture = await startGateway({ clock, options });
  facts = fixture.environment(runtime);
  return fixture;
}

const by = (address: string): readonly string[] => ["x-forwarded-for", address];

async function guess(headers: readonly string[], http: Http = "http/1.1"): Promise<number> {
  const request = { path: "/S/h", headers: [...headers, ...bearer("key_nobodys")] };
  return (await (fixture as GatewayFixture).call(http, "ingress", facts, request)).status;
}

async function guessMany(count: number, headers: readonly string[], http?: Http): Promise<number[]> {
  const statuses = new Set<number>();
  for (let n = 0; n < count; n++) statuses.add(await guess(headers, http));
  return [...statuses];
}

test.each<Http>(["http/1.1", "h2"])(
  "T15: one client that guesses leaves others behind the same proxy alone, over %s",
  async (http) => {
    await open({ trustedProxies: PROXY });
    expect(await guessMany(NETWORK_LIMITS.unauthorizedPerMinute, by(`9.9.9.9, ${ADA}`), http)).toEqual([401]);
    expect(await guess(by(`8.8.8.8, ${ADA}`), http)).toBe(429); // Elements that a client adds further left change nothing.
    expect(await guess(by(BOB), http)).toBe(401);
    clock.advanceBy(3_000); // One more of twenty a minute.
    expect([await guess(by(ADA), http), await guess(by(ADA), http)]).toEqual([401, 429]);
  },
);

test("addresses of one /64 of IPv6 are one client", async () => {
  await open({ trustedProxies: PROXY });
  expect(await guessMany(NETWORK_LIMITS.unauthorizedPerMinute, by(BOB))).toEqual([401]);
  expect([await guess(by("2001:db8:0:1::8")), await guess(by("2001:db8:0:2::8"))]).toEqual([429, 401]);
});

test("without a trusted proxy the header is ignored, and the limits are those of the connection", async () => {
  await open({ trustedProxies: new TrustedProxies(["10.0.0.0/8"], "x-forwarded-for") });
  expect(await guessMany(NETWORK_LIMITS.unauthorizedPerMinute, by(ADA))).toEqual([401]);
  expect(await guess(by(BOB))).toBe(429);
});

test("the runtime receives the client's address, and no address that a client made up", async () => {
  const gateway = await open({ trustedProxies: PROXY });
  const key = bearer(gateway.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  await gateway.call("http/1.1", "ingress", facts, { path: "/S/h", headers: [...by(`9.9.9.9, ${ADA}`), ...key] });
  expect(valuesOf(runtime.requests[0]?.rawHeaders ?? [], "x-forwarded-for")).toEqual([ADA]);
});

test("limits are settings: two wrong credentials a minute, one anonymous request at once", async () => {
  const networkLimits = { ...NETWORK_LIMITS, unauthorizedPerMinute: 2, anonymousBurst: 1, anonymousPerSecond: 1 };
  const gateway = await open({ networkLimits });
  expect([await guess([]), await guess([]), await guess([])]).toEqual([401, 401, 429]);
  const version = async () => (await gateway.call("http/1.1", "admin", facts, { path: "/version" })).status;
  expect([await version(), await version()]).toEqual([200, 429]);
  clock.advanceBy(1_000);
  expect(await version()).toBe(200);
});

test.each([
  ["count for a network", undefined, 2],
  ["of a trusted proxy are not counted", PROXY, 4],
] as const)("connections %s", async (_what, trustedProxies, kept) => {
  const { ports } = await open({ connectionsPerNetworkMax: 2, trustedProxies });
  let closed = 0;
  const sockets: Socket[] = [];
  for (let n = 0; n < 4; n++) {
    const socket = connect(ports.ingress, "127.0.0.1");
    socket.on("error", () => undefined).on("close", () => closed++);
    sockets.push(socket);
    await new Promise<void>((resolve) => socket.once("connect", resolve));
  }
  await until(() => closed === 4 - kept, "the connections beyond the limit are closed");
  for (const socket of sockets) socket.destroy();
});
