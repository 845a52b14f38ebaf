/** Identity of the parts of a snapshot: what did not change is the same object as before, so that readers can compare by reference. */
import { isDeepStrictEqual } from "node:util";
import type { RegistrySnapshot } from "./registry.js";

/** `next` with the rules and the event subscriptions of `previous` where they are equal. */
export function keepUnchanged(next: RegistrySnapshot, previous: RegistrySnapshot): RegistrySnapshot {
  return {
    ...next,
    rules: isDeepStrictEqual(next.rules, previous.rules) ? previous.rules : next.rules,
    events: isDeepStrictEqual(next.events, previous.events) ? previous.events : next.events,
  };
}
