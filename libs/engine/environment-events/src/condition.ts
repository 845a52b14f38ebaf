/** Conditions of an environment that cause events when they begin and when they are over. */
import type { EnvironmentEventType, EventAbout } from "@perdure/state-machine";

export const CONDITION_KINDS = ["subscriptionStuck", "limitSaturated", "deploymentDrained"] as const;
export type ConditionKind = (typeof CONDITION_KINDS)[number];

/** Types of the events of a condition. A drained deployment that is used again causes no event. */
export const EVENTS_OF: Readonly<
  Record<ConditionKind, { readonly begin: EnvironmentEventType; readonly over: EnvironmentEventType | undefined }>
> = {
  subscriptionStuck: { begin: "subscription.stuck", over: "subscription.recovered" },
  limitSaturated: { begin: "limit.saturated", over: "limit.recovered" },
  deploymentDrained: { begin: "deployment.drained", over: undefined },
};

/** Fields of an event, as JSON. */
export type EventData = Readonly<Record<string, unknown>>;

/** What holds now. `subject` identifies it among those of its kind. */
export interface EnvironmentCondition {
  readonly subject: string;
  readonly about: EventAbout;
  readonly data: EventData;
  /** Positions of a stuck subscription, by topic partition: it has recovered when it is beyond them. */
  readonly positions: Readonly<Record<string, number>> | undefined;
}

/** What one check found. */
export interface Findings {
  readonly begun: readonly EnvironmentCondition[];
  /** Subjects whose condition is over, with the fields of the event. */
  readonly over: ReadonlyMap<string, EventData>;
  /** Subjects that no longer exist: there is no event. */
  readonly gone: readonly string[];
}

export const NO_FINDINGS: Findings = { begun: [], over: new Map(), gone: [] };

/** A condition that was reported, as detectors need it. */
export interface Reported {
  readonly subject: string;
  readonly positions?: Readonly<Record<string, number>> | undefined;
}
