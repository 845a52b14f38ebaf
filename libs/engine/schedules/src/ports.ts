/** Ports between the store of schedules and the engine that acts on them; the management API uses both through `Schedules`. */
import type { InvocationId, OperationId, ScheduleId } from "@perdure/base";
import type { RestoreOutcome } from "@perdure/metadata";
import type { ScheduleEvent } from "./event.js";
import type { Schedule, ScheduleSpec } from "./schedule.js";

export interface RecordedEvents {
  readonly id: ScheduleId;
  readonly events: readonly ScheduleEvent[];
}

/** Stored schedules for the engine. Reads return the latest state that this process has and never wait. */
export interface ScheduleBook {
  get(id: ScheduleId): Schedule | undefined;
  /** Oldest first. */
  list(): readonly Schedule[];
  /** Folds events into states, durably and atomically. Events of removed schedules are dropped. At most `RECORDED_TOGETHER_MAX`. */
  record(changes: readonly RecordedEvents[]): Promise<void>;
  /** Calls the listener for schedules that users created, changed, paused, resumed or removed, when reads show it; not for `record`. */
  onChange(listener: (id: ScheduleId) => void): () => void;
}

/** Operations of users. All reject with `RegistryRefusal`: 404 unknown, 409 name in use or version mismatch, 400 META0100. */
export interface ScheduleManager {
  create(spec: ScheduleSpec, isPaused: boolean): Promise<Schedule>;
  replace(id: ScheduleId, spec: ScheduleSpec, expectedVersion: number | undefined): Promise<Schedule>;
  remove(id: ScheduleId, expectedVersion: number | undefined, undo?: OperationId): Promise<void>;
  /** Restores what `remove` deleted under this id; times that passed meanwhile are not fired. 409 when its name is in use again. */
  restore(operation: OperationId): Promise<RestoreOutcome>;
  /** Stops all firings until `resume`; both change nothing when the schedule is in that state already. */
  pause(id: ScheduleId): Promise<Schedule>;
  /** Times that passed meanwhile are not fired. */
  resume(id: ScheduleId): Promise<Schedule>;
}

/** `isNew` is false when the key was used before: the invocation is the one created then. */
export interface ManualFiring {
  readonly invocationId: InvocationId;
  readonly isNew: boolean;
}

/** At most `BACKFILL_TOGETHER_MAX` times of the timetable, ascending. */
export interface BackfillBatch {
  readonly timesMs: readonly number[];
  /** Refused with 409 when the schedule has another version: its times may differ. */
  readonly expectedVersion: number;
  /** Nothing is called; the outcomes are those that the same batch would have. */
  readonly isDryRun: boolean;
}

export interface BackfilledTime {
  readonly nominalMs: number;
  /** `failed`: the key of the workflow was used before, by another caller or another time. */
  readonly outcome: "new" | "alreadyRan" | "failed";
  /** The invocation of the time; of failed ones the one that exists. */
  readonly invocationId: InvocationId;
  readonly detail: string | undefined;
}

export interface ScheduleRunner {
  /**
   * Calls the target for past times, regardless of the overlap policy and a pause. A time whose invocation is stored is not called
   * again. Rejects with `RegistryRefusal` (404, 409, 400 META0100 when the handler is gone) or ING0006; then some times may have been
   * called, and the same batch can be repeated.
   */
  backfill(id: ScheduleId, batch: BackfillBatch): Promise<readonly BackfilledTime[]>;
  /**
   * Fires now, regardless of the timetable, the overlap policy and a pause. The same `key` again gives the same invocation. Rejects
   * with `RegistryRefusal` (404, 400 META0100 when the handler is gone, 409 when the workflow ran before) or ING0006.
   */
  runNow(id: ScheduleId, key: string): Promise<ManualFiring>;
}

/** The schedules may be kept in another process, so reads return promises. */
export interface Schedules extends ScheduleManager, ScheduleRunner {
  get(id: ScheduleId): Schedule | undefined | Promise<Schedule | undefined>;
  /** Oldest first. */
  list(): readonly Schedule[] | Promise<readonly Schedule[]>;
}
