/** Settings of events about an environment. The process that fires schedules also publishes these events. */
import { duration } from "../config/setting.js";

export const eventSettings = {
  checkInterval: duration("10s", {
    sentence:
      "Interval of the checks for events about the environment (duration, at least 100 ms); nothing is checked without subscriptions.",
    minMs: 100,
  }),
  stuckAfter: duration("5m", {
    sentence:
      "Time without progress after which a Kafka subscription with waiting records, or without a consumer, is stuck (duration).",
  }),
  saturatedAfter: duration("1m", {
    sentence: "Time at its maximum, with waiting invocations, after which a limit of flow control is saturated (duration).",
  }),
};

interface EventSettings {
  readonly checkInterval: number;
  readonly stuckAfter: number;
  readonly saturatedAfter: number;
}

export function eventOptionsOf({ checkInterval, stuckAfter, saturatedAfter }: EventSettings) {
  return { checkIntervalMs: checkInterval, stuckAfterMs: stuckAfter, saturatedAfterMs: saturatedAfter };
}
