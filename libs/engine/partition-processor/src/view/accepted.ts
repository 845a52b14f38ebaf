import type { Effect, Mutation, PartitionCommand } from "@perdure/state-machine";

/** Consequences of a command beside its mutations. */
export interface Accepted {
  readonly effects: readonly Effect[];
  /** Commands to other invocations, in their order. */
  readonly sent: readonly PartitionCommand[];
}

export const NOTHING_CAUSED: Accepted = { effects: [], sent: [] };

/** Shared, so that no list waits empty for the mutations of the next batch. */
export const NO_MUTATIONS: readonly Mutation[] = [];
