/** The result of one step of a reconcile: its observation for the conditions, and when to reconcile again without a change. */
import type { Observation } from "@perdure/custom-resources";
import { isConflict, isForbidden, isInvalid } from "@perdure/kubernetes";
import { WAIT_CONFLICT_MS, WAIT_FORBIDDEN_MS } from "../limits.js";

export interface StepOutcome {
  readonly observation: Observation;
  /** Milliseconds until the next reconcile; undefined: only changes and the resync cause one. */
  readonly againMs?: number;
  /** The condition is false, but as the spec requests and this cell allows, so it does not prevent `Ready`. */
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
