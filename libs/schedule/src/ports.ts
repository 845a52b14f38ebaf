/** Why: who keeps schedules and who acts on them meet here; the management API sees both through `Schedules`. */
import type { InvocationId, ScheduleId } from "@perdure/base";
import type { ScheduleEvent } from "./event.js";
import type { Schedule, ScheduleSpec } from "./schedule.js";

export interface RecordedEvents {
  readonly id: ScheduleId;
  readonly events: readonly ScheduleEvent[];
}

/** What the engine needs. Reads are of the latest state this process knows and never wait. */
export interface ScheduleBook {
  get(id: ScheduleId): Schedule | undefined;
  /** Oldest first. */
  list(): readonly Schedule[];
  /** Folds events into states, durably and all together. Those of schedules that are gone are dropped. At most `RECORDED_TOGETHER_MAX`. */
  record(changes: readonly RecordedEvents[]): Promise<void>;
  /** Tells of schedules that people made, changed, paused, resumed or removed, once reads show it; not of `record`. */
  onChange(listener: (id: ScheduleId) => void): () => void;
}

/** What people do. Everything rejects with `RegistryRefusal`: 404 unknown, 409 name taken or version mismatch, 400 META0100. */
export interface ScheduleManager {
  create(spec: ScheduleSpec, isPaused: boolean): Promise<Schedule>;
  replace(id: ScheduleId, spec: ScheduleSpec, expectedVersion: number | undefined): Promise<Schedule>;
  remove(id: ScheduleId, expectedVersion: number | undefined): Promise<void>;
  /** Nothing fires any more until `resume`; both do nothing when it is so already. */
  pause(id: ScheduleId): Promise<Schedule>;
  /** Times that passed meanwhile are not made up for. */
  resume(id: ScheduleId): Promise<Schedule>;
}

/** `isNew` is false when the key was used before: the invocation is the one of then. */
export interface ManualFiring {
  readonly invocationId: InvocationId;
  readonly isNew: boolean;
}

export interface ScheduleRunner {
  /**
   * Fires now, whatever the timetable, the overlap policy or a pause say. The same `key` again gives the same invocation. Rejects
   * with `RegistryRefusal` (404, 400 META0100 when the handler is gone, 409 when the workflow ran before) or ING0006.
   */
  runNow(id: ScheduleId, key: string): Promise<ManualFiring>;
}

/** Who keeps schedules may be in another process: reads may have to wait. */
export interface Schedules extends ScheduleManager, ScheduleRunner {
  get(id: ScheduleId): Schedule | undefined | Promise<Schedule | undefined>;
  /** Oldest first. */
  list(): readonly Schedule[] | Promise<readonly Schedule[]>;
}
