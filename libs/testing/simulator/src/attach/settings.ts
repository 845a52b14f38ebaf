/** Attachments of a seed: handlers and clients wait for invocations that others started, while operators kill, purge and fork them. */
import { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface AttachSettings {
  /** Chance that the program of a request attaches to invocations of others. */
  readonly share: number;
  /** Attachments of one program, at most. */
  readonly attachmentsMax: number;
  /** Clients that attach without a handler. */
  readonly clients: number;
}

/** Separate random numbers, so that a seed without attachments keeps its world. */
const SEED_OFFSET = 2 ** 25;

export function drawAttachSettings(seed: number, settings: SimulationSettings): SimulationSettings {
  const random = new SeededRandom(seed + SEED_OFFSET);
  return {
    ...settings,
    attach: { share: random.pick([0.4, 0.8]), attachmentsMax: 1 + random.below(4), clients: 4 + random.below(10) },
    callers: 6 + random.below(8),
    operatorActions: random.below(14),
    stormMs: random.pick([2_000, 20_000]),
  };
}
