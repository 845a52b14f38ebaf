/** Shapes of responses about schedules. */
import { z } from "zod";
import { DurationShape, listShape, TextMapShape, TimeShape } from "../fields.js";

const count = z.int();
const moment = TimeShape.nullable();

const FiringShape = z.strictObject({
  outcome: z.string(),
  cause: z.enum(["due", "queued", "caught_up", "manual"]).nullable(),
  scheduled_at: TimeShape,
  decided_at: TimeShape,
  invocation_id: z.string().nullable(),
  detail: z.string().nullable(),
  count,
});

export const ScheduleShape = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    version: count,
    cron: z.string(),
    zone: z.string(),
    jitter: DurationShape,
    start_at: moment,
    end_at: moment,
    max_firings: count.nullable(),
    target: z.strictObject({
      service: z.string(),
      handler: z.string(),
      key: z.string().nullable(),
      scope: z.string().nullable(),
      limit_key: z.string().nullable(),
      priority: count.nullable(),
    }),
    content_type: z.string().nullable(),
    payload: z.unknown().optional().describe("When it is JSON"),
    payload_base64: z.string().optional().describe("When it is anything else"),
    headers: TextMapShape,
    overlap: z.enum(["skip", "queue", "cancel_previous", "allow"]),
    max_queued: count.nullable(),
    catch_up: z.string(),
    max_caught_up: count.nullable(),
    catch_up_window: DurationShape.nullable(),
    paused: z.boolean(),
    status: z.enum(["active", "paused", "ended"]),
    next_at: moment,
    last_scheduled_at: moment,
    last_fired_at: moment,
    last_invocation_id: z.string().nullable(),
    active_invocation_id: z.string().nullable(),
    queued: z.array(TimeShape),
    fired_count: count,
    manual_count: count,
    skipped_count: count,
    failed_count: count,
    missed_count: count,
    recent: z.array(FiringShape),
    created_at: TimeShape,
    modified_at: TimeShape,
  })
  .meta({ id: "Schedule" });

export const SchedulesShape = listShape("schedules", ScheduleShape, "ListSchedulesResponse");

export const FiredShape = z.strictObject({ invocation_id: z.string(), status: z.enum(["Accepted", "PreviouslyAccepted"]) });

/** `new` of a dry run: would be called. */
const BackfilledTimeShape = z.strictObject({
  at: TimeShape,
  local: z.string(),
  outcome: z.enum(["new", "already_ran", "failed"]),
  invocation_id: z.string(),
  detail: z.string().nullable(),
});

export const BackfillShape = z
  .strictObject({
    schedule_id: z.string(),
    dry_run: z.boolean(),
    count: count.describe("Times of the schedule in the range"),
    first: moment,
    last: moment,
    new_count: count.describe("Times that were called by this request, or would be without `dry_run`"),
    already_ran_count: count,
    failed_count: count,
    times: z.array(BackfilledTimeShape),
  })
  .meta({ id: "BackfillScheduleResponse" });

export const NextTimesShape = z.strictObject({ next: z.array(z.strictObject({ at: TimeShape, local: z.string() })) });
