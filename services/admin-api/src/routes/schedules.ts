/** `/schedules`: recurring invocations of a handler at the times of a cron expression (docs/schedules.md). */
import { type Clock, type Random, type ScheduleId, toHex } from "@perdure/base";
import { NEXT_TIMES_MAX, type Schedule, type Schedules, statusOf, upcoming } from "@perdure/schedules";
import { empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer, PAGE_QUERY } from "../http/page.js";
import { type ApiRequest, badQuery } from "../http/request.js";
import type { ApiRoute, RouteOperation } from "../http/route.js";
import { scheduleParam } from "../ids.js";
import { FiredShape, NextTimesShape, ScheduleShape, SchedulesShape } from "../views/schedule-shape.js";
import { nextTimeView, scheduleView } from "../views/schedule-view.js";
import { PostSchedule, PutSchedule, specOf } from "./schedule-body.js";

export interface ScheduleRoutePorts {
  readonly schedules: Schedules;
  readonly clock: Clock;
  readonly random: Random;
}

const NEXT_DEFAULT = 10;
const UNKNOWN = { 404: "Unknown schedule" };
const VERSION = { expected_version: "Only if the schedule has this version; 409 otherwise" };
/** Idempotency keys: the same characters as at the ingress, with a bound. */
const KEY = /^[\t\x20-\x7e]{1,512}$/;
const KEY_BYTES = 12;

export function scheduleRoutes(ports: ScheduleRoutePorts): readonly ApiRoute[] {
  const { schedules } = ports;
  return [
    allSchedules(schedules),
    oneSchedule(schedules),
    { path: "/schedules/{schedule}/pause", operations: verb("Fire no more until resumed", (id) => schedules.pause(id)) },
    {
      path: "/schedules/{schedule}/resume",
      operations: verb("Fire again; firings missed meanwhile are skipped", (id) => schedules.resume(id)),
    },
    runRoute(ports),
    nextTimes(ports),
  ];
}

function allSchedules(schedules: Schedules): ApiRoute {
  return {
    path: "/schedules",
    operations: {
      GET: {
        summary: "List schedules, oldest first",
        query: {
          ...PAGE_QUERY,
          name: "Only the one of this name",
          service: "Only those that call this service",
          status: "Only those that are `active`, `paused` or `ended`",
        },
        answers: { 200: "The schedules, or a page of them" },
        results: { 200: SchedulesShape },
        handle: (request) => list(schedules, request),
      },
      POST: {
        summary: "Make a schedule",
        body: PostSchedule,
        answers: {
          201: "Made",
          400: "Expression, zone or target is not usable (META0100), or a field is unknown",
          409: "The name is in use",
        },
        results: { 201: ScheduleShape },
        handle: async (request) => {
          const body = await request.json(PostSchedule);
          const schedule = await schedules.create(specOf(body), body.paused ?? false);
          return json(201, scheduleView(schedule), { location: `schedules/${schedule.record.id}` });
        },
      },
    },
  };
}

function oneSchedule(schedules: Schedules): ApiRoute {
  return {
    path: "/schedules/{schedule}",
    operations: {
      GET: {
        summary: "One schedule, how far it has come, and its recent firings",
        answers: { 200: "The schedule", ...UNKNOWN },
        results: { 200: ScheduleShape },
        handle: async (request) => json(200, scheduleView(await existingSchedule(schedules, scheduleParam(request)))),
      },
      PUT: {
        summary: "Replace the fields of a schedule; its history is kept",
        query: VERSION,
        body: PutSchedule,
        answers: {
          200: "The schedule as changed",
          400: "Expression, zone or target is not usable (META0100)",
          ...UNKNOWN,
          409: "The name is in use, or the version differs",
        },
        results: { 200: ScheduleShape },
        handle: async (request) => {
          const id = scheduleParam(request);
          const expected = expectedVersion(request);
          const body = await request.json(PutSchedule);
          const schedule = await schedules.replace(id, specOf(body), expected);
          if (body.paused === undefined || body.paused === schedule.state.isPaused) return json(200, scheduleView(schedule));
          return json(200, scheduleView(await (body.paused ? schedules.pause(id) : schedules.resume(id))));
        },
      },
      DELETE: {
        summary: "Delete a schedule; its invocations continue",
        query: VERSION,
        answers: { 202: "Ended", ...UNKNOWN, 409: "The version differs" },
        handle: async (request) => {
          await schedules.remove(scheduleParam(request), expectedVersion(request));
          return empty(202);
        },
      },
    },
  };
}

function runRoute(ports: ScheduleRoutePorts): ApiRoute {
  return {
    path: "/schedules/{schedule}/run",
    operations: {
      POST: {
        summary:
          "Fire now, regardless of timetable, overlap policy and pause; the header `idempotency-key` makes it safe to retry",
        answers: {
          200: "The key was used before: the invocation of then",
          202: "Fired",
          400: "The handler is gone (META0100)",
          ...UNKNOWN,
          409: "The workflow was invoked before",
        },
        results: { 200: FiredShape, 202: FiredShape },
        handle: (request) => runNow(ports, request),
      },
    },
  };
}

function nextTimes({ schedules, clock }: ScheduleRoutePorts): ApiRoute {
  return {
    path: "/schedules/{schedule}/next",
    operations: {
      GET: {
        summary: "The next fire times, pauses and jitter not considered",
        query: { count: `How many, up to ${NEXT_TIMES_MAX}; ${NEXT_DEFAULT} by default` },
        answers: { 200: "In UTC and in the schedule's zone; fewer when it ends before", ...UNKNOWN },
        results: { 200: NextTimesShape },
        handle: async (request) => {
          const schedule = await existingSchedule(schedules, scheduleParam(request));
          const count = wholeNumber(request, "count", 1, NEXT_TIMES_MAX) ?? NEXT_DEFAULT;
          const times = upcoming(schedule, clock.nowMs(), count);
          return json(200, { next: times.map((atMs) => nextTimeView(atMs, schedule.record.zone)) });
        },
      },
    },
  };
}

/** POST, and PATCH as for the verbs of invocations. */
function verb(summary: string, act: (id: ScheduleId) => Promise<Schedule>): ApiRoute["operations"] {
  const operation: RouteOperation = {
    summary,
    answers: { 200: "The schedule, also when nothing changed", ...UNKNOWN },
    results: { 200: ScheduleShape },
    handle: async (request) => json(200, scheduleView(await act(scheduleParam(request)))),
  };
  return { POST: operation, PATCH: operation };
}

async function existingSchedule(schedules: Schedules, id: ScheduleId): Promise<Schedule> {
  const schedule = await schedules.get(id);
  if (schedule === undefined) throw new RouteError(404, `The requested schedule '${id}' does not exist`);
  return schedule;
}

async function runNow({ schedules, random }: ScheduleRoutePorts, request: ApiRequest) {
  const id = scheduleParam(request);
  const given = request.header("idempotency-key");
  if (given !== undefined && !KEY.test(given)) throw new RouteError(400, "bad header 'idempotency-key'");
  const { invocationId, isNew } = await schedules.runNow(id, given ?? freshKey(random));
  const location = `invocations/${invocationId}`;
  const status = isNew ? "Accepted" : "PreviouslyAccepted";
  return json(isNew ? 202 : 200, { invocation_id: invocationId, status }, { location });
}

function freshKey(random: Random): string {
  const bytes = new Uint8Array(KEY_BYTES);
  random.bytes(bytes);
  return toHex(bytes);
}

async function list(schedules: Schedules, request: ApiRequest) {
  const name = request.query.get("name");
  const service = request.query.get("service");
  const status = request.query.get("status");
  if (status !== null && !["active", "paused", "ended"].includes(status)) throw badQuery("status: not a status");
  const all = await schedules.list();
  const matches = all.filter((schedule) => {
    const { record } = schedule;
    if (name !== null && record.name !== name) return false;
    if (service !== null && record.target.service !== service) return false;
    return status === null || statusOf(schedule) === status;
  });
  return listAnswer(request, "schedules", matches, ageKey, scheduleView);
}

/** Sorts oldest first. */
function ageKey({ record }: Schedule): string {
  return `${String(record.createdAtMs).padStart(16, "0")} ${record.id}`;
}

function expectedVersion(request: ApiRequest): number | undefined {
  return wholeNumber(request, "expected_version", 1, Number.MAX_SAFE_INTEGER);
}

function wholeNumber(request: ApiRequest, name: string, min: number, max: number): number | undefined {
  const text = request.query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw badQuery(`${name}: not a whole number from ${min} to ${max}`);
}
