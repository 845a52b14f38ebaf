/**
 * An API server refuses changes of some fields, so an upgrade that changes them fails half-way. The values of release 0.1.0 are recorded
 * here once and for all: a chart that needs another value needs another name for the object.
 */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "@jest/globals";
import { runHelm } from "@perdure/servers";
import { nameOf, type Rendered, type RenderOptions, render, VALUES } from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

const recorded = JSON.parse(readFileSync(new URL("./testdata/unchangeable-0.1.0.json", import.meta.url), "utf8")) as Record<
  string,
  unknown
>;

beforeAll(async () => {
  await runHelm("version");
}, FIRST_MS);

/** By object: the fields that may not change while it exists. */
function unchangeable(objects: readonly Rendered[]): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const object of objects) {
    const { kind, spec } = object;
    if (kind === "Deployment") result[nameOf(object)] = { selector: spec.selector };
    if (kind === "StatefulSet") {
      const { selector, serviceName, podManagementPolicy, volumeClaimTemplates } = spec;
      result[nameOf(object)] = { selector, serviceName, podManagementPolicy, volumeClaimTemplates: volumeClaimTemplates ?? [] };
    }
    if (kind === "Service") result[nameOf(object)] = { isHeadless: spec.clusterIP === "None" };
    if (/Binding$/.test(kind)) result[nameOf(object)] = { roleRef: object["roleRef"] };
  }
  return result;
}

test.each<readonly [string, RenderOptions]>([
  ...VALUES.map((values) => [values, { values }] as const),
  ["other versions and numbers", { sets: ["gateway.tag=9.9.9", "operator.tag=9.9.9", "tunnelRelay.replicas=5"] }],
  ["other labels and places", { sets: ["gateway.podAnnotations.a=b", "tenancy.nodeSelector.a=b", "global.ipFamily=ipv4"] }],
])(
  "nothing that may not change has changed: %s",
  async (_title, options) => {
    const now = unchangeable(await render(options));
    expect(Object.keys(now).length).toBeGreaterThanOrEqual(8);
    for (const [name, fields] of Object.entries(now)) {
      if (name in recorded) expect([name, fields]).toEqual([name, recorded[name]]);
    }
  },
  TEST_MS,
);

test(
  "whatever was there once is still there, or goes with its switch",
  async () => {
    const now = {
      ...unchangeable(await render({ values: "everything" })),
      ...unchangeable(await render({ values: "loadbalancer" })),
    };
    expect(Object.keys(now)).toEqual(expect.arrayContaining(Object.keys(recorded)));
  },
  TEST_MS,
);
