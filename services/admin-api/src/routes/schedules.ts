/** `/schedules`: recurring invocations of a handler at the times of a cron expression (docs/schedules.md). */

import {
  createSchedule,
  getNextTimes,
  getSchedule,
  listSchedules,
  NEXT_TIMES_DEFAULT,
  NEXT_TIMES_MAX,
  pauseOrResumeSchedule,
  removeSchedule,
  replaceSchedule,
  runSchedule,
} from "@perdure/admin-contract";
import { CreateSchedule, ReplaceSchedule } from "@perdure/admin-contract/requests";
import { type Clock, type Random, type ScheduleId, toHex } from "@perdure/base";
import { type Schedule, type Schedules, statusOf, upcoming } from "@perdure/schedules";
import { empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer } from "../http/page.js";
import { type ApiRequest, badQuery } from "../http/request.js";
import { type ApiRoute, type RouteImplementation, route } from "../http/route.js";
import { scheduleParam } from "../ids.js";
import { asDeletion } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";
import { nextTimeView, scheduleView } from "../views/schedule-view.js";
import { backfillRoute, existingSchedule } from "./schedule-backfill.js";
import { specOf } from "./schedule-body.js";

interface ScheduleRoutePorts extends Pick<AdminPorts, "operations"> {
  readonly schedules: Schedules;
  readonly clock: Clock;
  readonly random: Random;
}

const UNKNOWN = { 404: "Unknown schedule" };
/** Idempotency keys: the same characters as at the ingress, with a bound. */
const KEY = /^[\t\x20-\x7e]{1,512}$/;
const KEY_BYTES = 12;

export function scheduleRoutes(ports: ScheduleRoutePorts): readonly ApiRoute[] {
  const { schedules } = ports;
  return [
    route(listSchedules, {
      summary: "List schedules, oldest first",
      answers: { 200: "The schedules, or a page of them" },
      handle: (request) => list(schedules, request),
    }),
    route(createSchedule, {
      summary: "Make a schedule",
      body: CreateSchedule,
      answers: {
        201: "Made",
        400: "Expression, zone or target is not usable (META0100), or a field is unknown",
        409: "The name is in use",
      },
      handle: (request) => create(schedules, request),
    }),
    route(getSchedule, {
      summary: "One schedule, how far it has come, and its recent firings",
      answers: { 200: "The schedule", ...UNKNOWN },
      handle: async (request) => json(200, scheduleView(await existingSchedule(schedules, scheduleParam(request)))),
    }),
    route(replaceSchedule, {
      summary: "Replace the fields of a schedule; its history is kept",
      body: ReplaceSchedule,
      answers: {
        200: "The schedule as changed",
        400: "Expression, zone or target is not usable (META0100)",
        ...UNKNOWN,
        409: "The name is in use, or the version differs",
      },
      handle: (request) => replace(schedules, request),
    }),
    route(removeSchedule, {
      summary: "Delete a schedule; its invocations continue",
      answers: { 202: "Ended", ...UNKNOWN, 409: "The version differs" },
      handle: async (request) => {
        const id = scheduleParam(request);
        const version = expectedVersion(request);
        const schedule = await schedules.get(id);
        const subject = `schedule ${schedule?.record.name ?? id}`;
        const deletion = { verb: "delete-schedule", subject, record: schedule && [schedule.record, schedule.state] } as const;
        const { headers } = await asDeletion(ports, request, deletion, (undo) => schedules.remove(id, version, undo));
        return empty(202, headers);
      },
    }),
    ...verb("pause", "Fire no more until resumed", (id) => schedules.pause(id)),
    ...verb("resume", "Fire again; firings missed meanwhile are skipped", (id) => schedules.resume(id)),
    route(runSchedule, {
      summary: "Fire now, regardless of timetable, overlap policy and pause; the header `idempotency-key` makes it safe to retry",
      answers: {
        200: "The key was used before: the invocation of then",
        202: "Fired",
        400: "The handler is gone (META0100)",
        ...UNKNOWN,
        409: "The workflow was invoked before",
      },
      handle: (request) => runNow(ports, request),
    }),
    backfillRoute(ports),
    route(getNextTimes, {
      summary: "The next fire times, pauses and jitter not considered",
      answers: { 200: "In UTC and in the schedule's zone; fewer when it ends before", ...UNKNOWN },
      handle: (request) => nextTimes(ports, request),
    }),
  ];
}

/** POST, and PATCH as for the verbs of invocations. */
function verb(name: "pause" | "resume", summary: string, act: (id: ScheduleId) => Promise<Schedule>): readonly ApiRoute[] {
  const operation: RouteImplementation = {
    summary,
    answers: { 200: "The schedule, also when nothing changed", ...UNKNOWN },
    handle: async (request) => json(200, scheduleView(await act(scheduleParam(request)))),
  };
  const contract = pauseOrResumeSchedule(name);
  return [route(contract, operation), route({ ...contract, method: "PATCH" }, operation)];
}

async function create(schedules: Schedules, request: ApiRequest) {
  const body = await request.json(CreateSchedule);
  const schedule = await schedules.create(specOf(body), body.paused ?? false);
  return json(201, scheduleView(schedule), { location: `schedules/${schedule.record.id}` });
}

async function replace(schedules: Schedules, request: ApiRequest) {
  const id = scheduleParam(request);
  const expected = expectedVersion(request);
  const body = await request.json(ReplaceSchedule);
  const schedule = await schedules.replace(id, specOf(body), expected);
  if (body.paused === undefined || body.paused === schedule.state.isPaused) return json(200, scheduleView(schedule));
  return json(200, scheduleView(await (body.paused ? schedules.pause(id) : schedules.resume(id))));
}

async function nextTimes({ schedules, clock }: ScheduleRoutePorts, request: ApiRequest) {
  const schedule = await existingSchedule(schedules, scheduleParam(request));
  const count = wholeNumber(request, "count", 1, NEXT_TIMES_MAX) ?? NEXT_TIMES_DEFAULT;
  const times = upcoming(schedule, clock.nowMs(), count);
  return json(200, { next: times.map((atMs) => nextTimeView(atMs, schedule.record.zone)) });
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
