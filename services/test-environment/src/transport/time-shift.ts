/**
 * Converts the times that handlers send. Their process has the machine's clock, and names absolute times: the end of a sleep, the start of
 * a delayed call. The environment's clock may have moved on by years.
 */
import { type Clock, systemClock } from "@perdure/base";
import { decodeCommand, encodeCommand, type Frame, isFault, MessageType } from "@perdure/service-protocol";

export class TimeShift {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the frame with its times in the environment's clock. */
  toEnvironment(frame: Frame): Frame {
    if (frame.type !== MessageType.Sleep && frame.type !== MessageType.OneWayCall) return frame;
    const shiftMs = this.#clock.nowMs() - systemClock.nowMs();
    const command = decodeCommand(frame.type, frame.body);
    if (shiftMs === 0 || isFault(command)) return frame; // The invoker reports the fault.
    switch (command.kind) {
      case "sleep":
        return { ...frame, body: encodeCommand({ ...command, wakeUpTimeMs: command.wakeUpTimeMs + shiftMs }) };
      case "oneWayCall":
        if (command.invokeTimeMs === 0) return frame;
        return { ...frame, body: encodeCommand({ ...command, invokeTimeMs: command.invokeTimeMs + shiftMs }) };
      default:
        return frame;
    }
  }
}
