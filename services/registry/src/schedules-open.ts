/** Opens schedules for the management API: the stored schedules and the engine that fires them as one object. */
import { type Clock, type Logger, PerdureError, type Random } from "@perdure/base";
import type { Partitions, RegistryView } from "@perdure/control";
import type { MetadataStore } from "@perdure/metadata";
import { createScheduleEngine, type ScheduleEngine, type ScheduleRunner, type Schedules, scheduleRow } from "@perdure/schedules";
import { createScheduleBook, type ManagedScheduleBook } from "./schedules.js";

interface SchedulesParts {
  readonly metadata: MetadataStore;
  readonly registry: RegistryView;
  readonly partitions: Partitions;
  readonly scopesEnabled: boolean;
  /** Shows stored schedules and fires nothing. */
  readonly isSuspended?: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface OpenSchedules extends Schedules, AsyncDisposable {
  /** Returns the rows that introspection shows. */
  rows(): Iterable<ReturnType<typeof scheduleRow>>;
}

/** Loads the stored schedules and begins to fire them. Rejects with META0005 when they are damaged. Disposing stops the firing. */
export async function openSchedules(parts: SchedulesParts): Promise<OpenSchedules> {
  const manager = await createScheduleBook(parts, { scopesEnabled: parts.scopesEnabled });
  const engine = parts.isSuspended === true ? undefined : createScheduleEngine({ ...parts, book: manager });
  return {
    ...schedulesOf(manager, {
      runNow: async (id, key) => running(engine).runNow(id, key),
      backfill: async (id, batch) => running(engine).backfill(id, batch),
    }),
    *rows() {
      for (const schedule of manager.list()) yield scheduleRow(schedule);
    },
    async [Symbol.asyncDispose]() {
      await engine?.[Symbol.asyncDispose]();
    },
  };
}

function running(engine: ScheduleEngine | undefined): ScheduleEngine {
  if (engine === undefined) throw new PerdureError("ING0006", "this server is suspended");
  return engine;
}

/** The schedules of a book, and the start of runs. */
export function schedulesOf(book: ManagedScheduleBook, { runNow, backfill }: ScheduleRunner): Schedules {
  return {
    get: (id) => book.get(id),
    list: () => book.list(),
    create: (spec, isPaused) => book.create(spec, isPaused),
    replace: (id, spec, expectedVersion) => book.replace(id, spec, expectedVersion),
    remove: (id, expectedVersion, undo) => book.remove(id, expectedVersion, undo),
    restore: (operation) => book.restore(operation),
    pause: (id) => book.pause(id),
    resume: (id) => book.resume(id),
    runNow,
    backfill,
  };
}
