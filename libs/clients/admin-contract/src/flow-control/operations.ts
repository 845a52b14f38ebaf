import type { Operation } from "../operation.js";
import { DeletedRulesShape, RulesShape } from "./responses.js";

export const putRules = { method: "PUT", path: "/limits/rules", results: { 200: RulesShape } } as const satisfies Operation;

export const deleteRules = {
  method: "POST",
  path: "/limits/rules/bulk-delete",
  results: { 200: DeletedRulesShape },
} as const satisfies Operation;

export function pauseOrResumeQueue<Verb extends "pause" | "resume">(verb: Verb) {
  return { method: "POST", path: `/vqueues/{vqueue_id}/${verb}` } as const satisfies Operation;
}
