/** Repeats the checks for events about an environment. */
import { RepeatedTask } from "@perdure/base";
import { EnvironmentEvents } from "./checks.js";
import type { EnvironmentEventsOptions, EnvironmentEventsPorts } from "./ports.js";

/** Begins to check. Disposing waits for the check in progress. */
export function createEnvironmentEvents(ports: EnvironmentEventsPorts, options: EnvironmentEventsOptions): AsyncDisposable {
  const events = new EnvironmentEvents(ports, options);
  const { clock, logger } = ports;
  const failed = "events about the environment could not be checked; retrying";
  return new RepeatedTask({ clock, logger, pauseMs: options.checkIntervalMs, run: (signal) => events.check(signal), failed });
}
