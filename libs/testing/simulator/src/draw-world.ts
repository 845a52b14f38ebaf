/** Draws the settings of a seed's world, with what its kinds add. */
import { SeededRandom } from "@perdure/testkit";
import { drawAttachSettings } from "./attach/settings.js";
import { crowdSeed, drawCrowdSettings } from "./crowd/settings.js";
import { debounceSeed, drawDebounceSettings } from "./debounce/settings.js";
import { drawFlowSettings, flowSeed } from "./flow/settings.js";
import { drawSettings, type SimulationSettings } from "./settings.js";
import { drawStateTtlSettings } from "./state-ttl/settings.js";
import { drawThreadsSettings } from "./threads/settings.js";
import { drawThrottleSettings } from "./throttle/settings.js";
import { drawUndoSettings } from "./undo/settings.js";
import { clusterSeed, drawClusterSettings } from "./workers/settings.js";

export interface WorldKinds {
  readonly seed: number;
  /** Adds scopes, limits and rates to the seed's world, drawn from separate random numbers. */
  readonly flow?: boolean;
  /** Uses worker processes with leases, links and a store behind a network; drawn likewise. Not together with `flow`. */
  readonly cluster?: boolean;
  /** Adds many events at one moment, late messages and old timers; drawn likewise. Not together with `flow` or `cluster`. */
  readonly crowd?: boolean;
  /** Adds debounced requests; drawn likewise. Also together with `cluster`. */
  readonly debounce?: boolean;
  /** Adds throttled requests; drawn likewise. Also together with `cluster`. */
  readonly throttle?: boolean;
  /** Adds a time to live to the state of objects; drawn likewise. Also together with `cluster`. */
  readonly stateTtl?: boolean;
  /** Adds changes that are undone; drawn likewise. Also together with `cluster`. */
  readonly undo?: boolean;
  /** Adds attachments to invocations of others; drawn likewise. Also together with each of the others. */
  readonly attach?: boolean;
  /** Leads all partitions in threads of one process; drawn likewise. Not together with `cluster`. */
  readonly threads?: boolean;
}

/** `random` is that of the seed; each kind has separate random numbers. */
export function drawWorld(kinds: WorldKinds, random: SeededRandom): SimulationSettings {
  const { seed } = kinds;
  let settings = drawSettings(random);
  if (kinds.cluster === true) settings = drawClusterSettings(new SeededRandom(clusterSeed(seed)), settings);
  else if (kinds.flow === true) settings = drawFlowSettings(new SeededRandom(flowSeed(seed)), settings);
  if (kinds.crowd === true) settings = drawCrowdSettings(new SeededRandom(crowdSeed(seed)), settings);
  if (kinds.debounce === true) settings = drawDebounceSettings(new SeededRandom(debounceSeed(seed)), settings);
  if (kinds.undo === true) settings = drawUndoSettings(seed, settings);
  if (kinds.stateTtl === true) settings = drawStateTtlSettings(seed, settings);
  if (kinds.throttle === true) settings = drawThrottleSettings(seed, settings);
  if (kinds.attach === true) settings = drawAttachSettings(seed, settings);
  return kinds.threads === true ? drawThreadsSettings(seed, settings) : settings;
}
