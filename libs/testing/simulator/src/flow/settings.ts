/** Flow control of a seed: rules, the invocations they apply to, how often they change and queues are paused. */
import type { FlowRule } from "@perdure/flow-control";
import type { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface FlowSettings {
  readonly scopes: readonly string[];
  /** Limit keys, as often as they are listed; the first is the heavy one. */
  readonly limitKeys: readonly (string | undefined)[];
  /** Rules in force one after the other, evenly over the storm; the last stay. */
  readonly ruleBooks: readonly (readonly FlowRule[])[];
  readonly pauses: number;
}

/** Separate random numbers, so that a seed without flow control keeps its world. */
const SEED_OFFSET = 2 ** 20;

export function flowSeed(seed: number): number {
  return seed + SEED_OFFSET;
}

/** Draws settings that make invocations compete, over those of the seed. */
export function drawFlowSettings(random: SeededRandom, settings: SimulationSettings): SimulationSettings {
  const bookCount = random.pick([1, 1, 1, 3]);
  const flow: FlowSettings = {
    scopes: random.pick([["s1"], ["s1", "s2"]]),
    limitKeys: random.pick([
      ["a", "a", "a", "a", "b", "c"],
      ["a", "a", "a", "a/x", "a/y", "b", undefined],
      [undefined, "a/x"],
    ]),
    ruleBooks: Array.from({ length: bookCount }, () => drawRules(random)),
    pauses: random.pick([0, 0, 2, 4]),
  };
  return {
    ...settings,
    flow,
    callers: 12 + random.below(20),
    stormMs: random.pick([2_000, 20_000]),
    // Rates follow the wall clock, which must not jump then.
    weather: { ...settings.weather, clockJumpEveryMs: undefined },
  };
}

function drawRules(random: SeededRandom): FlowRule[] {
  const rules: FlowRule[] = [];
  const rule = (pattern: string, change: Partial<FlowRule>): void => {
    rules.push({ pattern, concurrency: undefined, rate: undefined, weight: 1, priority: undefined, disabled: false, ...change });
  };
  rule(random.pick(["*", "s1"]), { concurrency: 1 + random.below(3) });
  if (random.chance(0.4)) rule(random.pick(["*/*", "s1/a"]), { concurrency: 1 + random.below(2), weight: 1 + random.below(3) });
  if (random.chance(0.3)) rule("*/*/*", { concurrency: 1 });
  if (random.chance(0.4)) {
    rules[0] = {
      ...(rules[0] as FlowRule),
      rate: { limit: 1, periodMs: random.pick([5_000, 15_000]), burst: 1 + random.below(3) },
    };
  }
  return rules;
}
