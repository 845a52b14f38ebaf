import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import {
  fromHex,
  newBatchId,
  newDeploymentId,
  newScheduleId,
  newSubscriptionId,
  parseBatchId,
  parseDeploymentId,
  parseScheduleId,
  parseSubscriptionId,
  type Random,
  systemRandom,
} from "./index.js";

type Recorded = { deployments: { id: string; raw: string; ulidMs: number; ulidRandom: string }[] };
const recorded = JSON.parse(readFileSync(new URL("../testdata/ids.json", import.meta.url), "utf8")) as Recorded;

/** Returns the bytes of a hex text, once. */
function replaying(hex: string): Random {
  return { bytes: (into) => into.set(fromHex(hex)!), uint32: () => 0, float: () => 0 };
}

test.each(recorded.deployments)("$id is the ULID the reference made at $ulidMs", ({ id, ulidMs, ulidRandom }) => {
  expect(newDeploymentId(ulidMs, replaying(ulidRandom))).toBe(id);
  expect(parseDeploymentId(id)).toEqual({ ok: true, value: id });
  expect(newSubscriptionId(ulidMs, replaying(ulidRandom))).toBe(id.replace("dp", "sub"));
});

test("fresh ids have their fixed length and parse", () => {
  const deployment = newDeploymentId(Date.UTC(2026, 0, 1), systemRandom);
  const subscription = newSubscriptionId(Date.UTC(2026, 0, 1), systemRandom);
  const schedule = newScheduleId(Date.UTC(2026, 0, 1), systemRandom);
  expect([deployment.length, subscription.length, schedule.length]).toEqual([26, 27, 27]);
  expect(parseScheduleId(schedule)).toEqual({ ok: true, value: schedule });
  expect(parseScheduleId(subscription)).toEqual({ ok: false, problem: "id doesn't match the expected type" });
  expect(parseDeploymentId(deployment).ok).toBe(true);
  expect(parseSubscriptionId(subscription).ok).toBe(true);
});

test("a batch has an id of its own kind", () => {
  const batch = newBatchId(Date.UTC(2026, 0, 1), systemRandom);
  expect(batch).toMatch(/^bat_1[0-9A-Za-z]{22}$/);
  expect(parseBatchId(batch)).toEqual({ ok: true, value: batch });
  expect(parseDeploymentId(batch)).toMatchObject({ ok: false });
});

test.each([
  ["dp_1nope", "bad length"],
  ["nope", "bad format"],
  ["dp_2nope", "unrecognized codec version"],
  ["dp_", "bad length"],
  ["sub_15ebSafJ8DrC3zq83Js1bNv", "id doesn't match the expected type"],
  ["xx_15ebSafJ8DrC3zq83Js1bNv", "unrecognized resource type: xx"],
  ["dp_15ebSafJ8DrC3zq83Js1bN", "bad length"],
  ["dp_15ebSafJ8DrC3zq83Js1bN-", "base62 decode error"],
  ["dp_1ZZZZZZZZZZZZZZZZZZZZZZ", "base62 decode error"],
])("as a deployment %p has a %s", (text, problem) => {
  expect(parseDeploymentId(text)).toEqual({ ok: false, problem });
});

test("a deployment is not a subscription", () => {
  expect(parseSubscriptionId("dp_15ebSafJ8DrC3zq83Js1bNv")).toEqual({ ok: false, problem: "id doesn't match the expected type" });
});
