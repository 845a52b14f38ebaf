/** Faults at or on the way to an endpoint, drawn for each attempt. */
import type { SimulatedWorld } from "../world.js";

/** A fault in the middle of the response, after the handler has sent this many commands. */
export interface Misfortune {
  readonly kind: "reset" | "endOfStream" | "silence" | "garbage" | "error";
  readonly afterCommands: number;
}

/** A fault instead of a response. */
type EndpointRefusal =
  | { readonly kind: "connect" }
  | { readonly kind: "status"; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: "never" };

export type Fate = { readonly refusal: EndpointRefusal | undefined; readonly misfortune: Misfortune | undefined };

const GOOD: Fate = { refusal: undefined, misfortune: undefined };

export function drawFate(world: SimulatedWorld): Fate {
  const { random } = world.scheduler;
  if (!random.chance(world.weather.badAttempt)) return GOOD;
  if (random.chance(0.3)) return { refusal: drawRefusal(world), misfortune: undefined };
  const kind = random.pick(["reset", "reset", "endOfStream", "error", "error", "garbage", "silence"] as const);
  return { refusal: undefined, misfortune: { kind, afterCommands: random.below(6) } };
}

function drawRefusal({ scheduler: { random } }: SimulatedWorld): EndpointRefusal {
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      return { kind: "connect" };
    case 3:
      return { kind: "never" };
    case 4:
      return { kind: "status", status: 503, headers: { "retry-after": "1" } };
    case 5:
      return { kind: "status", status: 415, headers: {} };
    default:
      return { kind: "status", status: random.pick([404, 429, 500, 502]), headers: {} };
  }
}
