import { NEXT_TIMES_DEFAULT, NEXT_TIMES_MAX } from "../limits.js";
import { type AdminOperation, PAGE_QUERY } from "../operation.js";
import { BackfillShape, FiredShape, NextTimesShape, ScheduleShape, SchedulesShape } from "./responses.js";

const VERSION_QUERY = { expected_version: "Only if the schedule has this version; 409 otherwise" } as const;

export const listSchedules = {
  method: "GET",
  path: "/schedules",
  query: {
    ...PAGE_QUERY,
    name: "Only the one of this name",
    service: "Only those that call this service",
    status: "Only those that are `active`, `paused` or `ended`",
  },
  results: { 200: SchedulesShape },
} as const satisfies AdminOperation;

export const createSchedule = {
  method: "POST",
  path: "/schedules",
  results: { 201: ScheduleShape },
} as const satisfies AdminOperation;

export const getSchedule = {
  method: "GET",
  path: "/schedules/{schedule}",
  results: { 200: ScheduleShape },
} as const satisfies AdminOperation;

export const replaceSchedule = {
  method: "PUT",
  path: "/schedules/{schedule}",
  query: VERSION_QUERY,
  results: { 200: ScheduleShape },
} as const satisfies AdminOperation;

export const removeSchedule = {
  method: "DELETE",
  path: "/schedules/{schedule}",
  query: VERSION_QUERY,
} as const satisfies AdminOperation;

/** POST; the server also takes PATCH, as for the verbs of invocations. */
export function pauseOrResumeSchedule<Verb extends "pause" | "resume">(verb: Verb) {
  return {
    method: "POST",
    path: `/schedules/{schedule}/${verb}`,
    results: { 200: ScheduleShape },
  } as const satisfies AdminOperation;
}

/** The header `idempotency-key` makes a repetition safe; 200: the key was used before. */
export const runSchedule = {
  method: "POST",
  path: "/schedules/{schedule}/run",
  results: { 200: FiredShape, 202: FiredShape },
} as const satisfies AdminOperation;

/** Repeating it calls no time twice. */
export const backfillSchedule = {
  method: "POST",
  path: "/schedules/{schedule}/backfill",
  results: { 200: BackfillShape },
} as const satisfies AdminOperation;

export const getNextTimes = {
  method: "GET",
  path: "/schedules/{schedule}/next",
  query: { count: `How many, up to ${NEXT_TIMES_MAX}; ${NEXT_TIMES_DEFAULT} by default` },
  results: { 200: NextTimesShape },
} as const satisfies AdminOperation;
