import { expect, test } from "@jest/globals";
import type { SubscriptionStatusView } from "@perdure/admin-client";
import { clusterProperties, lagOf, optionsOf, shownOptions, sinkText, sourceOf, stateLabel } from "./kafka-form.js";

const status: SubscriptionStatusView = {
  id: "sub_1",
  state: "consuming",
  paused: false,
  skipped: [],
  assigned_partitions: [0, 1],
  positions: [
    { partition: 0, next_offset: 5, lag: 3 },
    { partition: 1, next_offset: 5, lag: -1 },
  ],
  stuck_at: null,
  last_failure: null,
  next_retry_at: null,
  handled_records: 10,
};

test("addresses are split", () => {
  expect(sourceOf("kafka://k1/a.b/c")).toEqual({ cluster: "k1", topic: "a.b/c" });
  expect(sourceOf("other://x")).toBeUndefined();
  expect(sinkText("service://Orders/place")).toBe("Orders/place");
});

test("options are lines of name=value", () => {
  expect(optionsOf("a=b=c\n\n d = e ")).toEqual({ ok: true, options: { a: "b=c", d: "e" } });
  expect(optionsOf("a=1\nx")).toMatchObject({ ok: false, problem: "Line 2 is not name=value." });
  expect(optionsOf("a=1\na=2")).toMatchObject({ ok: false });
});

test("lag is the sum over partitions, and unknown without a consumer", () => {
  expect(lagOf(status)).toBe(3);
  expect(lagOf({ ...status, positions: [] })).toBeUndefined();
});

test("what keeps it comes before what it does", () => {
  expect(stateLabel(status).label).toBe("reading");
  expect(stateLabel({ ...status, stuck_at: { partition: 0, offset: 5, reason: "no" } }).tone).toBe("bad");
  expect(stateLabel({ ...status, paused: true }).label).toBe("paused");
});

test("secrets are never shown", () => {
  expect(shownOptions({ "group.id": "g", "sasl.password": "x" })).toEqual([
    ["group.id", "g"],
    ["sasl.password", "•••"],
  ]);
});

test("the client gets only options of the protocol", () => {
  const fields = { name: "k", brokers: " a:1 ", protocol: "", mechanism: "PLAIN", user: "u", password: "p", more: "" };
  expect(clusterProperties(fields, { x: "y" })).toEqual({ "bootstrap.servers": "a:1", x: "y" });
  expect(clusterProperties({ ...fields, protocol: "SASL_SSL" }, {})).toMatchObject({
    "sasl.username": "u",
    "sasl.password": "p",
  });
});
