/** Determines which completions of a stored command are pending, and the seed of its handler's random numbers. */
import { randomSeedOf } from "@perdure/base";
import { decodeCommand, isFault } from "@perdure/service-protocol";
import type { JournalEntry } from "../entry.js";
import type { InvocationFacts } from "../invocation.js";

/** Returns the completion ids that a command waits for; empty for commands that complete by being stored. */
export function awaitedCompletionIds(entry: JournalEntry): readonly number[] {
  const command = decodeCommand(entry.type, entry.body);
  if (isFault(command)) return [];
  const ids: number[] = [];
  if ("invocationIdNotificationIdx" in command) ids.push(command.invocationIdNotificationIdx);
  if ("resultCompletionId" in command) ids.push(command.resultCompletionId);
  return ids;
}

/** The seed of an invocation's random numbers, the same for all its attempts (service protocol §10.6). */
export function randomSeedFor(facts: InvocationFacts): bigint {
  return facts.randomSeed ?? randomSeedOf(facts.id);
}
