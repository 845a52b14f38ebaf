import { expect, test } from "@jest/globals";
import type { ScheduleView } from "@perdure/admin-client";
import { bodyOf, fieldsOf, newFields, problemsOf } from "./schedule-form.js";

const schedule = {
  id: "sch_1",
  name: "nightly",
  version: 3,
  cron: "@daily",
  zone: "UTC",
  target: { service: "Reports", handler: "build", key: null, scope: "acme" },
  overlap: "queue",
  max_queued: 5,
  catch_up: "last",
  jitter: "0s",
  headers: { a: "b" },
  payload: { kind: "daily" },
} as unknown as ScheduleView;

test("a change keeps the fields that the form does not have", () => {
  const body = bodyOf({ ...fieldsOf(schedule), cron: "@hourly" }, schedule);
  expect(body).toMatchObject({ cron: "@hourly", headers: { a: "b" }, max_queued: 5, target: { scope: "acme" } });
  expect(body["payload"]).toEqual({ kind: "daily" });
});

test("bounds of a policy go with it", () => {
  expect(bodyOf({ ...fieldsOf(schedule), overlap: "skip" }, schedule)).toMatchObject({ overlap: "skip", max_queued: null });
});

test("no input is none, and bytes stay until JSON takes their place", () => {
  expect(bodyOf(newFields("A", "b"), undefined)).toMatchObject({ payload: undefined, content_type: null });
  const bytes = { ...schedule, payload: undefined, payload_base64: "AAE=", content_type: "x/y" } as unknown as ScheduleView;
  expect(bodyOf(fieldsOf(bytes), bytes)).toMatchObject({ payload_base64: "AAE=", content_type: "x/y" });
  expect(bodyOf({ ...fieldsOf(bytes), input: "1" }, bytes)).toMatchObject({ payload: 1, content_type: "application/json" });
});

test("missing and invalid values are reported by field", () => {
  expect(problemsOf({ ...newFields("", ""), input: "{", startAt: "soon", firingsMax: "0" })).toEqual({
    name: expect.any(String),
    service: expect.any(String),
    handler: expect.any(String),
    input: expect.any(String),
    startAt: expect.any(String),
    firingsMax: expect.any(String),
  });
});
