/** Why: each step of a reconcile ends in what it saw, for the conditions, and in whether it must be looked at again by itself. */
import type { Observation } from "@perdure/custom-resources";
import { isConflict, isForbidden, isInvalid } from "@perdure/driver-kubernetes";
import { WAIT_CONFLICT_MS, WAIT_FORBIDDEN_MS } from "../limits.js";

export interface StepOutcome {
  readonly observation: Observation;
  /** Milliseconds until another look; undefined: changes wake us, and the resync. */
  readonly againMs?: number;
  /** Not true, as the spec asks and this cell allows: it keeps nothing from being ready. */
  readonly isAllowed?: true;
}

export function good(type: string, reason: string, message = ""): StepOutcome {
  return { observation: { type, status: "True", reason, message } };
}

export function bad(type: string, reason: string, message: string, againMs?: number): StepOutcome {
  const observation: Observation = { type, status: "False", reason, message };
  return againMs === undefined ? { observation } : { observation, againMs };
}

export const isGood = ({ observation, isAllowed }: StepOutcome): boolean => observation.status === "True" || isAllowed === true;

/**
 * Runs a step. What an API server refuses for good becomes its condition, with the verb and kind it was about, and no hot loop;
 * everything else is thrown on, and tried again after a pause.
 */
export async function step(type: string, work: () => Promise<StepOutcome>): Promise<StepOutcome> {
  try {
    return await work();
  } catch (cause) {
    if (isInvalid(cause)) return bad(type, "Invalid", cause.message);
    if (isForbidden(cause)) return bad(type, "Forbidden", cause.message, WAIT_FORBIDDEN_MS);
    if (isConflict(cause)) return bad(type, "Conflict", [cause.message, ...cause.causes].join("; "), WAIT_CONFLICT_MS);
    throw cause;
  }
}
