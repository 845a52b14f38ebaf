/** `POST /schedules/{schedule}/backfill`: calls the target of a schedule for the times of a past range, in batches. */
import { backfillSchedule } from "@perdure/admin-contract";
import { BackfillSchedule } from "@perdure/admin-contract/requests";
import { type Clock, formatTimestampNanos, type ScheduleId } from "@perdure/base";
import {
  BACKFILL_TIMES_MAX,
  BACKFILL_TOGETHER_MAX,
  type BackfilledTime,
  backfillTimes,
  type Schedule,
  type Schedules,
} from "@perdure/schedules";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRequest } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import { scheduleParam } from "../ids.js";
import { backfillView } from "../views/schedule-view.js";

interface BackfillPorts {
  readonly schedules: Schedules;
  readonly clock: Clock;
}

export function backfillRoute(ports: BackfillPorts): ApiRoute {
  return route(backfillSchedule, {
    summary: "Call the target for past times of the timetable, each once, regardless of overlap policy and pause",
    body: BackfillSchedule,
    answers: {
      200: "Each time with its invocation; those that already ran are not called again",
      400: "Too many times, or not a range of the past (META0104); the handler is gone (META0100)",
      404: "Unknown schedule",
      409: "The schedule was changed meanwhile",
    },
    handle: (request) => backfillRange(ports, request),
  });
}

async function backfillRange({ schedules, clock }: BackfillPorts, request: ApiRequest) {
  const id = scheduleParam(request);
  const { from, to, dry_run: isDryRun = false } = await request.json(BackfillSchedule);
  const schedule = await existingSchedule(schedules, id);
  const nowMs = clock.nowMs();
  const timesMs = timesOf(schedule, Date.parse(from), to === undefined ? nowMs : Date.parse(to), nowMs);
  const times: BackfilledTime[] = [];
  const expectedVersion = schedule.record.version;
  for (let start = 0; start < timesMs.length; start += BACKFILL_TOGETHER_MAX) {
    const batch = timesMs.slice(start, start + BACKFILL_TOGETHER_MAX);
    times.push(...(await schedules.backfill(id, { timesMs: batch, expectedVersion, isDryRun })));
  }
  return json(200, backfillView(schedule, isDryRun ? withRepetitions(times) : times, isDryRun));
}

/** Marks the times that could not be called because an earlier time of the same dry run would have used the key of the workflow. */
function withRepetitions(times: readonly BackfilledTime[]): readonly BackfilledTime[] {
  const newIds = new Set<string>();
  return times.map((time) => {
    if (time.outcome !== "new") return time;
    if (newIds.has(time.invocationId)) return { ...time, outcome: "failed", detail: "an earlier time has the same workflow key" };
    newIds.add(time.invocationId);
    return time;
  });
}

export async function existingSchedule(schedules: Schedules, id: ScheduleId): Promise<Schedule> {
  const schedule = await schedules.get(id);
  if (schedule === undefined) throw new RouteError(404, `The requested schedule '${id}' does not exist`);
  return schedule;
}

function timesOf(schedule: Schedule, fromMs: number, toMs: number, nowMs: number): readonly number[] {
  const refuse = (detail: string): never => {
    throw new RouteError(400, detail, "META0104");
  };
  if (toMs > nowMs) return refuse(`'to' is in the future: it is ${formatTimestampNanos(nowMs)}`);
  if (fromMs >= toMs) return refuse("'from' is not before 'to'");
  const range = backfillTimes(schedule, fromMs, toMs);
  if (range.kind === "times") return range.timesMs;
  const count = `${range.isLowerBound ? "more than " : ""}${range.count.toLocaleString("en")}`;
  const most = BACKFILL_TIMES_MAX.toLocaleString("en");
  return refuse(
    `the schedule has ${count} times in this range, and a backfill calls at most ${most}; with 'to' ${formatTimestampNanos(range.fitsBeforeMs)} it calls the first ${most}`,
  );
}
