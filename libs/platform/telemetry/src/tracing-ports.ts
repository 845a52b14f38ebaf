/** Dependencies of the code that makes spans. */
import type { Clock, Logger, Random } from "@perdure/base";
import type { Sampler } from "./sampling.js";
import type { Tracer } from "./telemetry.js";

export interface TracingPorts {
  readonly tracer: Tracer;
  readonly sampler: Sampler;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
