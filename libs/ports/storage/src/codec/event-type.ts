/** Numbers of event types in stored rows (`EventType` in `proto/storage/v1/invocation.proto`). A number is never used again. */
import { EVENT_TYPES, type EventType } from "@perdure/state-machine";

export const EVENT_TYPE_NUMBERS: Readonly<Record<EventType, number>> = {
  "invocation.completed": 0,
  "invocation.failed": 1,
  "invocation.paused": 2,
  "subscription.stuck": 23,
  "subscription.recovered": 24,
  "limit.saturated": 25,
  "limit.recovered": 26,
  "deployment.drained": 27,
};

const TYPES: ReadonlyMap<number, EventType> = new Map(EVENT_TYPES.map((type) => [EVENT_TYPE_NUMBERS[type], type]));

/** A number that only a later version knows is shown as the first type: the receiver gets the type in the event itself. */
export function eventTypeOf(number: number): EventType {
  return TYPES.get(number) ?? "invocation.completed";
}
