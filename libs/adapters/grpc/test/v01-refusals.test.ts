/** What a process of v0.1 sends as JSON is checked before it is used: values that do not fit their type are refused with OPS0003. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import type { Tenancy } from "@perdure/cloud";
import type { Registry } from "@perdure/metadata";
import type { Schedules } from "@perdure/schedules";
import { toJson } from "../src/codec/json.js";
import { ChangeRequestSchema, RegistryStateSchema } from "../src/gen/v1/registry_pb.js";
import { TenancyNewsMessageSchema, TenancyQuestionSchema } from "../src/gen/v1/tenancy_pb.js";
import { answerChangeV01, fromStateV01 } from "../src/v01/registry.js";
import { answerSchedulesV01 } from "../src/v01/schedules.js";
import { answerV01, eventOfV01 } from "../src/v01/tenancy.js";

/** A port none of whose methods may be called. */
function untouched<Port extends object>(): Port {
  return new Proxy({} as Port, {
    get: (_port, name) => () => {
      throw new Error(`${String(name)} was called`);
    },
  });
}

const REFUSED = { code: "OPS0003" };
const DEPLOYMENT = "dp_15ChR1PDwZt22Rn2lfZrRo5";
const signal = new AbortController().signal;

test.each<[string, readonly unknown[]]>([
  ["register", []],
  ["register", [{ address: { kind: "carrier pigeon" } }]],
  ["checkDeployment", ["dp_1", {}]],
  ["checkDeployment", [DEPLOYMENT, 5]],
  ["update", [DEPLOYMENT, { address: { kind: "carrier pigeon" }, overwrite: false, dryRun: false }]],
  ["remove", [DEPLOYMENT, "yes"]],
  ["modifyService", [7, {}]],
  ["createKafkaCluster", ["k", { "bootstrap.servers": 1 }]],
  ["removeSubscription", ["sub_1"]],
  ["skipRecord", ["sub_1", { partition: 0, offset: 1 }]],
  ["putRules", [{ pattern: "*" }]],
  ["deleteRules", [["*"]]],
  ["onChange", []],
  ["constructor", []],
])("a change '%s' with other arguments is refused (%j)", async (method, values) => {
  const request = create(ChangeRequestSchema, { method, arguments: toJson(values) });
  await expect(answerChangeV01(untouched<Registry>(), request, signal)).rejects.toMatchObject(REFUSED);
});

test.each<[string, readonly unknown[]]>([
  ["get", ["sch_1"]],
  ["create", [{ name: "n" }, false]],
  ["pause", []],
  ["runNow", ["sch_1", 5]],
  ["list", []],
])("a method '%s' of schedules with other arguments is refused (%j)", async (method, values) => {
  const request = create(ChangeRequestSchema, { method, arguments: toJson(values) });
  await expect(answerSchedulesV01(untouched<Schedules>(), request)).rejects.toMatchObject(REFUSED);
});

test.each<[string, readonly unknown[]]>([
  ["environment", ["env_1"]],
  ["authenticate", ["secret", "env_1"]],
  ["authenticate", [null, null]],
  ["report", [{}]],
  ["reportTunnels", [{ relay: "r", atMs: "now", connections: [] }]],
  ["shareRates", [{ gateway: "g", region: "r", demands: [{ environmentId: "env_1", door: "ingress", perSecond: 1 }] }]],
  ["runtimeOf", [{}]],
  ["watch", []],
])("a question '%s' to tenancy with other arguments is refused (%j)", async (method, values) => {
  const question = create(TenancyQuestionSchema, { method, arguments: toJson(values) });
  await expect(answerV01(untouched<Tenancy>(), question)).rejects.toMatchObject(REFUSED);
});

describe("a client refuses", () => {
  test.each([
    ["a state that is none", "state"],
    ["a state without a snapshot", {}],
    [
      "a deployment with an id that is none",
      { snapshot: { services: new Map(), deployments: new Map([["d", { id: "d" }]]), rules: [] } },
    ],
  ])("%s", (_what, state) => {
    const message = create(RegistryStateSchema, { number: 1n, body: toJson(state) });
    expect(() => fromStateV01(message)).toThrow("[OPS0003]");
  });

  test("a change of tenancy that is none", () => {
    for (const event of [null, {}, { kind: "key", id: "k" }])
      expect(() => eventOfV01(create(TenancyNewsMessageSchema, { news: toJson(event) }))).toThrow("[OPS0003]");
  });
});
