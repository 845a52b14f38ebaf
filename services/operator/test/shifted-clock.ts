/** Why: what happens after minutes or a day is seen at once when the time of day that the operator reads is put forward. Pauses stay as they are. */
import { type Clock, systemClock } from "@perdure/base";

export interface ShiftedClock extends Clock {
  forward(ms: number): void;
  /** To that time of day, in milliseconds since 1970, however long things have taken until now. */
  forwardTo(atMs: number): void;
}

export function shiftedClock(): ShiftedClock {
  let shiftMs = 0;
  return {
    nowMs: () => systemClock.nowMs() + shiftMs,
    monotonicMs: () => systemClock.monotonicMs(),
    setTimer: (ms, callback) => systemClock.setTimer(ms, callback),
    forward(ms) {
      shiftMs += ms;
    },
    forwardTo(atMs) {
      shiftMs = atMs - systemClock.nowMs();
    },
  };
}
