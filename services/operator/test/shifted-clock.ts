/** A clock whose time of day is set forward, to test what happens after minutes or a day. Timers are unchanged. */
import { type Clock, systemClock } from "@perdure/base";

export interface ShiftedClock extends Clock {
  forward(ms: number): void;
  /** Sets the time of day, in milliseconds since 1970, regardless of the time that passed until now. */
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
