/** A schedule keeps its types in SQL: times are timestamps, jitter a duration, and unset fields are absent. */
import { afterAll, expect, test } from "@jest/globals";
import type { IntrospectionSource, LiveRows, ScheduleRow } from "../src/ports.js";
import { anEngine, rowsOf } from "./querying.js";

const AT = Date.parse("2026-11-21T12:00:00Z");
const row: ScheduleRow = {
  id: "sch_15ebSafJ8DrC3zq83Js1bNv",
  name: "nightly",
  description: undefined,
  status: "active",
  cron: "30 2 * * *",
  zone: "Europe/Berlin",
  jitterMs: 30_000,
  startAtMs: undefined,
  endAtMs: undefined,
  firingsMax: undefined,
  service: "Counter",
  handler: "add",
  key: "{date}",
  scope: undefined,
  limitKey: undefined,
  priority: undefined,
  contentType: "application/json",
  payloadLength: 2,
  overlap: "queue",
  queuedMax: 3,
  catchUp: "all",
  caughtUpMax: 5,
  catchUpWindowMs: 3_600_000,
  nextAtMs: AT + 1000,
  lastScheduledAtMs: AT,
  lastFiredAtMs: AT + 5,
  lastInvocationId: "inv_1",
  activeInvocationId: undefined,
  queuedCount: 1,
  firedCount: 7,
  manualCount: 1,
  skippedCount: 2,
  failedCount: 0,
  missedCount: 4,
  recentJson: "[]",
  version: 2,
  createdAtMs: AT - 1000,
  modifiedAtMs: AT - 500,
};
/** All that this table reads. */
const live = { schedules: () => [row] } as unknown as LiveRows;
const engine = anEngine({ partitionCount: 1, isOneMoment: true, store: {}, live } as unknown as IntrospectionSource);
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
});

test("a schedule is a row of sys_schedule", async () => {
  expect(await rowsOf(engine, "select * from sys_schedule where name = 'nightly'")).toEqual([
    {
      id: "sch_15ebSafJ8DrC3zq83Js1bNv",
      name: "nightly",
      status: "active",
      cron: "30 2 * * *",
      zone: "Europe/Berlin",
      jitter: "PT30S",
      target: "Counter/{date}/add",
      target_service_name: "Counter",
      target_service_key: "{date}",
      target_handler_name: "add",
      content_type: "application/json",
      payload_length: 2,
      overlap: "queue",
      max_queued: 3,
      catch_up: "all",
      max_caught_up: 5,
      catch_up_window: "PT3600S",
      next_at: "2026-11-21T12:00:01Z",
      last_scheduled_at: "2026-11-21T12:00:00Z",
      last_fired_at: "2026-11-21T12:00:00.005Z",
      last_invocation_id: "inv_1",
      queued: 1,
      fired_count: 7,
      manual_count: 1,
      skipped_count: 2,
      failed_count: 0,
      missed_count: 4,
      recent_json: "[]",
      version: 2,
      created_at: "2026-11-21T11:59:59Z",
      modified_at: "2026-11-21T11:59:59.500Z",
    },
  ]);
});
