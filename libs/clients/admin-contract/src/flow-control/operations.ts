import type { AdminOperation } from "../operation.js";
import { DeletedRulesShape, RulesShape } from "./responses.js";

export const putRules = { method: "PUT", path: "/limits/rules", results: { 200: RulesShape } } as const satisfies AdminOperation;

export const deleteRules = {
  method: "POST",
  path: "/limits/rules/bulk-delete",
  results: { 200: DeletedRulesShape },
} as const satisfies AdminOperation;

export function pauseOrResumeQueue<Verb extends "pause" | "resume">(verb: Verb) {
  return { method: "POST", path: `/vqueues/{vqueue_id}/${verb}` } as const satisfies AdminOperation;
}
