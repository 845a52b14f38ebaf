/** Tenancy's messages keep every value, refuse unknown ones, and are compatible with processes of v0.1 in both directions. */

import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type Random, Secret, silentLogger, systemClock } from "@perdure/base";
import {
  type Authentication,
  bareOf,
  type EnvironmentFacts,
  keyRoles,
  memberRoles,
  newAccountId,
  newApiKeyId,
  newEnvironmentId,
  newUserId,
  type TenancyChange,
  type TunnelsReport,
} from "@perdure/cloud";
import { exampleEnvironment, MemoryTenancy } from "@perdure/cloud/testing";
import { SeededRandom } from "@perdure/testkit";
import fc from "fast-check";
import type { Channel } from "../src/channel.js";
import * as codec from "../src/codec/tenancy.js";
import * as proto from "../src/gen/v1/tenancy_pb.js";
import { RemoteTenancy, tenancyDefinition, tenancyHandlers } from "../src/index.js";
import { TestServer } from "../src/testing/index.js";
import { callUnary } from "../src/unary.js";
import { callTenancyV01 } from "../src/v01/tenancy.js";

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

const random: Random = new SeededRandom(16);
const ids = {
  environment: fc.constant(0).map(() => newEnvironmentId(1, random)),
  account: fc.constant(0).map(() => newAccountId(random)),
  key: fc.constant(0).map(() => newApiKeyId(random)),
  user: fc.constant(0).map(() => newUserId(1, random)),
};
const ms = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const count = fc.nat({ max: 0xffff_ffff });
const perSecond = fc.double({ min: 0, max: 1e9, noNaN: true });
const rate = fc.record({ perSecond, burst: perSecond });
const text = fc.string();
const absent = { nil: undefined };

const limits = fc.record({
  ingressRate: rate,
  adminRate: rate,
  bodyBytesMax: ms,
  concurrentInvocationsMax: ms,
  storedBytesMax: ms,
  retentionMsMax: ms,
  deploymentsMax: ms,
  servicesMax: ms,
  subscriptionsMax: ms,
  tunnelNamesMax: ms,
  tunnelConnectionsMax: ms,
  memoryMibMax: ms,
  plainHttpAllowed: fc.boolean(),
});
const facts: fc.Arbitrary<EnvironmentFacts> = fc.record(
  {
    id: ids.environment,
    accountId: ids.account,
    region: text,
    status: fc.constantFrom("PENDING", "ACTIVE", "FAILED", "SUSPENDED", "DELETING", "DELETED"),
    upstream: fc.option(
      fc.record(
        { ingress: text, admin: text, secret: text.map((value) => new Secret(value)) },
        { requiredKeys: ["ingress", "admin"] },
      ),
      absent,
    ),
    sleep: fc.constantFrom("asleep", "waking"),
    ingressUrl: text,
    adminUrl: text,
    signingPublicKeys: fc.array(text),
    limits,
    corsOrigins: fc.array(text),
    isThrottled: fc.boolean(),
    forwardsForeignAuthorization: fc.boolean(),
  },
  {
    requiredKeys: [
      "id",
      "accountId",
      "region",
      "status",
      "upstream",
      "ingressUrl",
      "adminUrl",
      "signingPublicKeys",
      "limits",
      "corsOrigins",
      "forwardsForeignAuthorization",
    ],
  },
);
const authentication: fc.Arbitrary<Authentication> = fc.oneof(
  fc.constantFrom<Authentication>({ kind: "elsewhere" }, { kind: "unknown" }),
  fc
    .record({
      kind: fc.constant("member" as const),
      id: ids.user,
      role: fc.constantFrom(...memberRoles),
      expiresAtMs: ms,
    })
    .map((caller) => ({ kind: "caller" as const, caller })),
  fc
    .record(
      {
        kind: fc.constant("key" as const),
        id: ids.key,
        role: fc.constantFrom(...keyRoles),
        expiresAtMs: fc.option(ms, absent),
        ratePerSecond: perSecond,
      },
      { requiredKeys: ["kind", "id", "role", "expiresAtMs"] },
    )
    .map((caller) => ({ kind: "caller" as const, caller })),
);
const tunnels: fc.Arbitrary<TunnelsReport> = fc.record(
  {
    relay: text,
    atMs: ms,
    connections: fc.array(
      fc.record({
        environmentId: ids.environment,
        name: text,
        id: text,
        clientVersion: fc.option(text, absent),
        workerId: fc.option(text, absent),
        connectedAtMs: ms,
        inFlight: count,
        ports: fc.option(fc.array(fc.nat({ max: 65_535 })), absent),
      }),
    ),
    events: fc.array(
      fc.record(
        {
          kind: fc.constantFrom("opened", "closed", "refused"),
          atMs: ms,
          environmentId: ids.environment,
          name: text,
          id: text,
          caller: fc.record({ kind: fc.constantFrom("key", "member"), id: text }),
          address: text,
          reason: text,
          omitted: count,
        },
        { requiredKeys: ["kind", "atMs", "environmentId", "omitted"] },
      ),
      { minLength: 1 },
    ),
  },
  { requiredKeys: ["relay", "atMs", "connections"] },
);
const event: fc.Arbitrary<TenancyChange> = fc.oneof(
  fc.constant<TenancyChange>({ kind: "everything" }),
  fc.record({ kind: fc.constant("environment" as const), id: ids.environment }),
  fc.record({ kind: fc.constant("key" as const), id: ids.key, environmentId: ids.environment }),
  fc.record({ kind: fc.constant("member" as const), id: ids.user, accountId: ids.account }),
);
const port = { environmentId: ids.environment, door: fc.constantFrom("ingress", "admin") };
const totals = fc.record({ ingressRequests: ms, adminRequests: ms, bytesIn: ms, bytesOut: ms, tunnelBytes: ms });

function throughBytes<Schema extends DescMessage>(schema: Schema, message: MessageShape<Schema>): MessageShape<Schema> {
  return fromBinary(schema, toBinary(schema, message));
}

function keeps<T, Schema extends DescMessage>(
  values: fc.Arbitrary<T>,
  schema: Schema,
  to: (value: T) => MessageShape<Schema>,
  from: (message: MessageShape<Schema>) => unknown,
): void {
  fc.assert(fc.property(values, (value) => expect(from(throughBytes(schema, to(value)))).toEqual(value)));
}

describe("messages keep", () => {
  test("environments, their secrets included", () => {
    keeps(facts, proto.EnvironmentSchema, codec.toEnvironment, codec.fromEnvironment);
    const upstream = { ingress: "a", admin: "b", secret: new Secret("s3") };
    const one = codec.fromEnvironment(codec.toEnvironment(exampleEnvironment({ upstream })));
    expect(one.upstream?.secret?.reveal()).toBe("s3");
  });

  test("callers", () => {
    keeps(authentication, proto.AuthenticateResponseSchema, codec.toAuthentication, codec.fromAuthentication);
  });

  test("reports and shares", () => {
    const report = fc.record({ source: text, environmentId: ids.environment, atMs: ms, totals });
    keeps(fc.array(report), proto.ReportUsageRequestSchema, codec.toUsageReports, codec.fromUsageReports);
    keeps(tunnels, proto.ReportTunnelsRequestSchema, codec.toTunnelsReport, codec.fromTunnelsReport);
    const demands = fc.array(fc.record({ ...port, perSecond }));
    const gateway = fc.record({ gateway: text, region: text, demands });
    keeps(gateway, proto.ShareRatesRequestSchema, codec.toGatewayReport, codec.fromGatewayReport);
    const shares = fc.record({ gateways: count, shares: fc.array(fc.record({ ...port, share: perSecond })) });
    keeps(shares, proto.ShareRatesResponseSchema, codec.toRateShares, codec.fromRateShares);
  });

  test("changes; an unknown one stands for everything", () => {
    keeps(event, proto.WatchChangesResponseSchema, codec.toChange, codec.fromChange);
    expect(codec.fromChange(fromBinary(proto.WatchChangesResponseSchema, Uint8Array.of(0x7a, 0)))).toEqual({
      kind: "everything",
    });
  });

  test("nothing that no type has", () => {
    const { id } = exampleEnvironment();
    const environment = codec.toEnvironment(exampleEnvironment());
    const { limits: _limits, ...withoutLimits } = environment;
    for (const broken of [{ ...environment, id: "env_1" }, { ...environment, status: 99 }, withoutLimits]) {
      expect(() => codec.fromEnvironment(broken as proto.Environment)).toThrow("[OPS0003]");
    }
    const key = codec.toAuthentication({
      kind: "caller",
      caller: { kind: "key", id: newApiKeyId(random), role: "rst:role::FullAccess", expiresAtMs: undefined },
    });
    (key.result.value as proto.ApiKeyCaller).role = "root";
    expect(() => codec.fromAuthentication(key)).toThrow("[OPS0003] the role of an API key");
    expect(() => codec.checkedEnvironmentId(`${id}x`)).toThrow("[OPS0003]");
  });
});

async function serve(tenancy: MemoryTenancy, definition: ServiceDefinition = tenancyDefinition): Promise<Channel> {
  const server = await TestServer.start(definition, tenancyHandlers(tenancy, silentLogger));
  opened.push(() => server.stop());
  return server.connect();
}

const OPTIONS = { deadlineMs: 10_000, callee: "tenancy" };

test("errors carry their code of the catalogue", async () => {
  const tenancy = new MemoryTenancy();
  const client = await serve(tenancy);
  const call = () =>
    callUnary(client, tenancyDefinition.listEnvironments, { $typeName: "perdure.control.v1.ListEnvironmentsRequest" }, OPTIONS);
  tenancy.isAway = true;
  await expect(call()).rejects.toMatchObject({ code: "TEN0001" });
  const request = { $typeName: "perdure.control.v1.GetEnvironmentRequest", bareId: "x" } as const;
  await expect(callUnary(client, tenancyDefinition.getEnvironment, request, OPTIONS)).rejects.toMatchObject({ code: "OPS0003" });
});

describe("a process of v0.1", () => {
  const { ask, watch } = tenancyDefinition;

  test("is called in its own form, and its change events arrive", async () => {
    const tenancy = new MemoryTenancy();
    const client = await serve(tenancy, { ask, watch });
    const remote = new RemoteTenancy({ channels: [client], clock: systemClock, logger: silentLogger });
    const one = tenancy.put(exampleEnvironment({ upstream: { ingress: "a", admin: "b", secret: new Secret("s3") } }));
    expect(await remote.environment(bareOf(one.id))).toEqual(one);
    expect((await remote.environments())[0]?.upstream?.secret?.reveal()).toBe("s3");
    expect(await remote.environment(bareOf(newEnvironmentId(1, random)))).toBeUndefined();
    const key = tenancy.addKey(one.id, "rst:role::AdminAccess");
    expect(await remote.authenticate(key, one.id)).toEqual(await tenancy.authenticate(key, one.id));
    await remote.reportTunnels({ relay: "r", atMs: 1, connections: [] });
    expect(tenancy.tunnels.get("r")).toMatchObject({ relay: "r" });
    expect(await remote.runtimeOf("token")).toBeUndefined();
    const stop = new AbortController();
    opened.push(() => stop.abort());
    const first = await new Promise<TenancyChange>((resolve) => remote.watch(resolve, { signal: stop.signal }));
    expect(first).toEqual({ kind: "everything" });
  });

  test("is answered in its own form", async () => {
    const tenancy = new MemoryTenancy();
    const client = await serve(tenancy);
    const one = tenancy.put(exampleEnvironment({ upstream: undefined }));
    expect(await callTenancyV01(client, "environment", [bareOf(one.id)], OPTIONS)).toEqual(one);
    expect(await callTenancyV01(client, "environments", [], OPTIONS)).toEqual([one]);
    await expect(callTenancyV01(client, "watch" as never, [], OPTIONS)).rejects.toMatchObject({ code: "OPS0003" });
    const { path, requestSerialize, responseDeserialize } = watch;
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
      $typeName: "perdure.control.v1.WatchTenancyRequest",
    });
    const first = await new Promise<proto.TenancyNewsMessage>((resolve) => stream.once("data", resolve));
    stream.on("error", () => undefined);
    stream.cancel();
    expect(JSON.parse(Buffer.from(first.news).toString())).toEqual({ kind: "everything" });
  });
});
