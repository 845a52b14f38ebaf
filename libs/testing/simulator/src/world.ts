/** The parts that everything in a simulated world shares. */
import type { InvocationId } from "@perdure/base";
import { partitionOf } from "@perdure/base";
import type { SimulationFindings } from "./findings.js";
import type { Ledger } from "./ledger/ledger.js";
import type { Scheduler } from "./scheduler.js";
import type { SimulationSettings, Weather } from "./settings.js";
import type { Trace } from "./trace.js";

export interface SimulatedWorld {
  readonly scheduler: Scheduler;
  readonly settings: SimulationSettings;
  readonly findings: SimulationFindings;
  readonly ledger: Ledger;
  readonly trace: Trace;
  /** The faults of the settings during the storm, none afterwards. */
  weather: Weather;
}

export function partitionFor(world: SimulatedWorld, id: InvocationId): number {
  return partitionOf(id, world.settings.partitionCount);
}
