/** Conditions of the environment as rows. */
import { afterAll, expect, test } from "@jest/globals";
import type { ConditionRow, IntrospectionSource, LiveRows } from "../src/ports.js";
import { anEngine, rowsOf } from "./querying.js";

const saturated: ConditionRow = {
  type: "limit.saturated",
  subject: "acme/reports",
  services: [],
  handler: undefined,
  scope: "acme",
  sinceMs: Date.parse("2026-11-21T12:00:00Z"),
};
const stuck: ConditionRow = {
  ...saturated,
  type: "subscription.stuck",
  subject: "sub_1",
  services: ["Checkout"],
  handler: "pay",
  scope: undefined,
};
/** All that this table reads. */
const live = { conditions: () => [saturated, stuck] } as unknown as LiveRows;
const engine = anEngine({ partitionCount: 1, isOneMoment: true, store: {}, live } as unknown as IntrospectionSource);
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
});

test("a condition is a row of sys_condition", async () => {
  expect(await rowsOf(engine, "select * from sys_condition order by type")).toEqual([
    { type: "limit.saturated", subject: "acme/reports", services: [], scope: "acme", since: "2026-11-21T12:00:00Z" },
    { type: "subscription.stuck", subject: "sub_1", services: ["Checkout"], handler: "pay", since: "2026-11-21T12:00:00Z" },
  ]);
});
