/** Fires schedules by hand, now or for past times. This needs no engine: any process that has the schedule can do it. */
import { type Clock, type Logger, PerdureError, type ScheduleId, unreachable } from "@perdure/base";
import type { Partitions, RegistryView } from "@perdure/control";
import { RegistryRefusal } from "@perdure/metadata";
import { backfill } from "./backfill.js";
import { firingCommand, manualFiring } from "./firing.js";
import type { ManualFiring, ScheduleBook, ScheduleRunner } from "./ports.js";
import { ScheduleRecorder } from "./recorder.js";
import { submit } from "./submit.js";

export interface RunnerPorts {
  readonly book: ScheduleBook;
  readonly partitions: Partitions;
  readonly registry: RegistryView;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `recorder` is shared with an engine, so that both write together. */
export function createScheduleRunner(
  ports: RunnerPorts,
  recorder: ScheduleRecorder = new ScheduleRecorder(ports.book),
): ScheduleRunner {
  return {
    runNow: (id, key) => runNow(ports, recorder, id, key),
    backfill: (id, batch) => backfill(ports, recorder, id, batch),
  };
}

async function runNow(ports: RunnerPorts, recorder: ScheduleRecorder, id: ScheduleId, key: string): Promise<ManualFiring> {
  const { book, registry, clock, logger, partitions } = ports;
  const schedule = book.get(id);
  if (schedule === undefined) throw new RegistryRefusal(404, undefined, `The requested schedule '${id}' does not exist`);
  const nominalMs = clock.nowMs();
  const made = firingCommand(schedule.record, manualFiring(nominalMs, key), registry, nominalMs);
  if (made.kind === "impossible") throw new RegistryRefusal(400, "META0100", made.reason);
  const { command } = made;
  const existing = await partitions.describe(command.id);
  const { submission } = await submit(ports, command, undefined);
  switch (submission.kind) {
    case "taken":
      throw new RegistryRefusal(409, undefined, `The workflow '${command.facts.target.key}' was already invoked`);
    case "unavailable":
      throw new PerdureError("ING0006", submission.reason);
    case "stored": {
      const isNew = existing === undefined;
      const fired = { kind: "fired", cause: "manual", nominalMs, atMs: nominalMs, invocationId: command.id } as const;
      if (isNew) await recorder.record({ id, events: [fired] });
      logger.info({ scheduleId: id, invocationId: command.id }, "schedule fired by hand");
      return { invocationId: command.id, isNew };
    }
    default:
      return unreachable(submission);
  }
}
