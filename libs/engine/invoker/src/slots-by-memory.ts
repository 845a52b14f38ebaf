/** Default number of attempts that a process may run when no setting gives it. */
import { SLOT_BYTES, SLOT_MEMORY_SHARE, SLOTS_DEFAULT_MAX, SLOTS_DEFAULT_MIN } from "./limits.js";

/** @param memoryBytes memory that the process may use in all */
export function slotsByMemory(memoryBytes: number): number {
  const slots = Math.floor((memoryBytes * SLOT_MEMORY_SHARE) / SLOT_BYTES);
  return Math.min(Math.max(slots, SLOTS_DEFAULT_MIN), SLOTS_DEFAULT_MAX);
}
