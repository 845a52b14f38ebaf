/**
 * Counts the billed actions of a mutation. Every store uses this count, in the batch that makes the mutation durable (cloud.md §5.4),
 * so that all stores bill alike.
 */

import { MessageType } from "@perdure/service-protocol";
import type { Mutation } from "@perdure/state-machine";

/** Notifications complete steps that were counted when their command was appended. */
const FIRST_NOTIFICATION = 0x8000;

/** Counts the starts of invocations and the steps of journals among the mutations. */
export function actionsOf(mutations: readonly Mutation[]): number {
  let actions = 0;
  for (const mutation of mutations) {
    if (mutation.kind !== "appendEntry") continue;
    const { type } = mutation.entry;
    // The Input counts as the start; the Output of a handler is not a step of its own.
    if (type < FIRST_NOTIFICATION && type !== MessageType.Output) actions++;
  }
  return actions;
}
