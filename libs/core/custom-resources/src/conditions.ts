/** The conditions that all our custom resources report, in the form of Kubernetes conditions (kubernetes.md §1). */
import { z } from "zod";
import { listBy, text } from "./schema.js";

const condition = z.strictObject({
  type: text(64),
  status: z.enum(["True", "False", "Unknown"]),
  reason: text(64).regex(/^[A-Za-z]([A-Za-z0-9]*[A-Za-z0-9])?$/),
  message: text(1024),
  /** RFC 3339; moves only when `status` changes. */
  lastTransitionTime: z.string().meta({ format: "date-time" }),
  observedGeneration: z.int().min(0).optional(),
});

export type Condition = z.output<typeof condition>;

export const conditions = () => listBy("type", condition, 20).optional();

/** A condition as observed now, without the time of its last transition. */
export type Observation = Pick<Condition, "type" | "status" | "reason" | "message">;

/**
 * Merges observations into conditions: the transition time changes only with the status, and a condition that is not observed any more is
 * removed.
 */
export function observed(
  before: readonly Condition[] | undefined,
  now: readonly Observation[],
  { generation, time }: { readonly generation: number; readonly time: string },
): Condition[] {
  const earlier = new Map((before ?? []).map((one) => [one.type, one]));
  return now.map(({ type, status, reason, message }) => {
    const old = earlier.get(type);
    const lastTransitionTime = old !== undefined && old.status === status ? old.lastTransitionTime : time;
    return { type, status, reason, message: message.slice(0, 1024), lastTransitionTime, observedGeneration: generation };
  });
}
