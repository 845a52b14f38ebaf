/** Repeats commands of attempts when their run is over, as if the messages had been delayed: they must change nothing. */
import type { InvokerHost } from "@perdure/invoker";
import type { AttemptCommand } from "@perdure/state-machine";
import type { SimulatedWorld } from "../world.js";

/** Maximum delay: most runs are over by then, and many of their invocations run again. */
const DELAY_MS_MAX = 3_000;

/** The host of the invoker of one process. `enter` runs a task in that process, if it still runs. */
export function withRepeatedCommands(host: InvokerHost, world: SimulatedWorld, enter: (task: () => void) => void): InvokerHost {
  const { crowd } = world.settings;
  if (crowd === undefined) return host;
  const { scheduler, ledger, trace } = world;
  const repeat = (command: AttemptCommand): void => {
    const generation = ledger.generation(command.id);
    scheduler.after(DELAY_MS_MAX * scheduler.random.float(), () => {
      // Another generation of the id counts its runs anew.
      if (generation === undefined || ledger.generation(command.id) !== generation || generation.invocation.run <= command.run)
        return;
      trace.note("late", () => `${command.kind} of ${command.id} run ${command.run}, now ${generation.invocation.run}`);
      enter(() => host.submit(command));
    });
  };
  return {
    stage: host.stage,
    submit(command) {
      host.submit(command);
      if (scheduler.random.chance(crowd.repeatedCommand)) repeat(command);
    },
    whenDurable: (callback) => host.whenDurable(callback),
    readJournal: (id, length) => host.readJournal(id, length),
    readState: (id, service, key) => host.readState(id, service, key),
  };
}
