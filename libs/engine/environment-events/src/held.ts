/** The conditions that hold now, as they are stored. */
import type { MetadataStore } from "@perdure/metadata";
import type { EnvironmentEventType } from "@perdure/state-machine";
import { EVENTS_OF } from "./condition.js";
import { Marks } from "./marks.js";

export interface HeldCondition {
  /** Type of the event that was raised when it began. */
  readonly type: EnvironmentEventType;
  readonly subject: string;
  readonly services: readonly string[];
  readonly handler: string | undefined;
  readonly scope: string | undefined;
  readonly sinceMs: number;
}

/** Conditions that began and are not over. Rejects with META0005 when a stored mark is damaged. */
export async function heldConditions(store: MetadataStore): Promise<readonly HeldCondition[]> {
  const marks = await Marks.load(store);
  return marks
    .all()
    .filter(({ isOver }) => !isOver)
    .map(({ kind, subject, about: { services, handler, scope }, sinceMs }) => {
      return { type: EVENTS_OF[kind].begin, subject, services, handler, scope, sinceMs };
    });
}
