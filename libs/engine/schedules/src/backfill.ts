/**
 * Backfill: calls the target of a schedule for past times of its timetable. The invocation of a time is the one that the engine would
 * submit for it, so a time that has an invocation is not called again, and a backfill that was interrupted can be repeated.
 */
import { PerdureError, type ScheduleId, unreachable } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import type { Invoke } from "@perdure/state-machine";
import type { ScheduleEvent } from "./event.js";
import { firingCommand, scheduledFiring } from "./firing.js";
import { BACKFILL_COUNTED_MAX, BACKFILL_TIMES_MAX } from "./limits.js";
import type { BackfillBatch, BackfilledTime } from "./ports.js";
import type { ScheduleRecorder } from "./recorder.js";
import type { RunnerPorts } from "./runner.js";
import type { Schedule } from "./schedule.js";
import { submit } from "./submit.js";
import { nominalAfter } from "./upcoming.js";

type BackfillTimes =
  | { readonly kind: "times"; readonly timesMs: readonly number[] }
  /** `isLowerBound`: counting ended at `BACKFILL_COUNTED_MAX`. The times before `fitsBeforeMs` would be few enough. */
  | { readonly kind: "tooMany"; readonly count: number; readonly isLowerBound: boolean; readonly fitsBeforeMs: number };

/**
 * Returns the times of the timetable from `fromMs` on and before `toMs`, within the start and the end of the schedule. Pauses, the number
 * of firings and jitter do not matter: jitter moves the moment of a call, not its time.
 */
export function backfillTimes(schedule: Schedule, fromMs: number, toMs: number): BackfillTimes {
  const timesMs: number[] = [];
  let at = nominalAfter(schedule, fromMs - 1);
  while (at !== undefined && at < toMs && timesMs.length < BACKFILL_COUNTED_MAX) {
    timesMs.push(at);
    at = nominalAfter(schedule, at);
  }
  const fitsBeforeMs = timesMs[BACKFILL_TIMES_MAX];
  if (fitsBeforeMs === undefined) return { kind: "times", timesMs };
  return { kind: "tooMany", count: timesMs.length, isLowerBound: at !== undefined && at < toMs, fitsBeforeMs };
}

/** A time whose invocation does not exist yet is `new`. */
interface PlannedTime {
  readonly command: Invoke;
  readonly time: BackfilledTime;
}

/** Calls the target for each time, in their order; what was stored before a failure is recorded. Used by `ScheduleRunner.backfill`. */
export async function backfill(
  ports: RunnerPorts,
  recorder: ScheduleRecorder,
  id: ScheduleId,
  batch: BackfillBatch,
): Promise<readonly BackfilledTime[]> {
  const planned = await Promise.all(batch.timesMs.map((nominalMs) => plan(ports, scheduleOf(ports, id, batch), nominalMs)));
  if (batch.isDryRun) return planned.map(({ time }) => time);
  const events: ScheduleEvent[] = [];
  const unavailable: string[] = [];
  // All are submitted at once, so invocations of one key enter its queue in the order of their times.
  const times = await Promise.all(
    planned.map(async ({ command, time }): Promise<BackfilledTime> => {
      if (time.outcome !== "new") return time;
      const { nominalMs } = time;
      const { submission } = await submit(ports, command, undefined);
      switch (submission.kind) {
        case "taken":
          return conflictOf(nominalMs, command);
        case "unavailable":
          unavailable.push(submission.reason);
          return time;
        case "stored":
          events.push({ kind: "fired", cause: "manual", nominalMs, atMs: ports.clock.nowMs(), invocationId: command.id });
          return time;
        default:
          return unreachable(submission);
      }
    }),
  );
  events.sort((a, b) => nominalOf(a) - nominalOf(b));
  if (events.length > 0) await recorder.record({ id, events });
  ports.logger.info({ scheduleId: id, times: times.length, fired: events.length }, "schedule backfilled");
  const [reason] = unavailable;
  if (reason !== undefined) throw new PerdureError("ING0006", reason);
  return times;
}

function scheduleOf({ book }: RunnerPorts, id: ScheduleId, { expectedVersion }: BackfillBatch): Schedule {
  const schedule = book.get(id);
  if (schedule === undefined) throw new RegistryRefusal(404, undefined, `The requested schedule '${id}' does not exist`);
  const { version } = schedule.record;
  if (version === expectedVersion) return schedule;
  throw new RegistryRefusal(409, undefined, `the schedule '${id}' has version ${version}, not ${expectedVersion}`);
}

async function plan({ partitions, registry, clock }: RunnerPorts, schedule: Schedule, nominalMs: number): Promise<PlannedTime> {
  const made = firingCommand(schedule.record, scheduledFiring(nominalMs), registry, clock.nowMs());
  if (made.kind === "impossible") throw new RegistryRefusal(400, "META0100", made.reason);
  const { command } = made;
  const { id: invocationId, facts } = command;
  const existing = await partitions.describe(invocationId);
  if (existing === undefined) return { command, time: { nominalMs, outcome: "new", invocationId, detail: undefined } };
  // The id of a workflow may come from any caller; any other id was made for this time of this schedule.
  const isOurs = facts.idempotencyKey !== undefined || existing.facts.requestId === facts.requestId;
  if (!isOurs) return { command, time: conflictOf(nominalMs, command) };
  return { command, time: { nominalMs, outcome: "alreadyRan", invocationId, detail: undefined } };
}

function conflictOf(nominalMs: number, { id, facts }: Invoke): BackfilledTime {
  const detail = `the workflow '${facts.target.key}' was already invoked`;
  return { nominalMs, outcome: "failed", invocationId: id, detail };
}

function nominalOf(event: ScheduleEvent): number {
  return event.kind === "fired" ? event.nominalMs : 0;
}
