/**
 * A connection has a few seconds for its first header section (slowloris), not counting time in which this process itself stood still.
 * Node's own check runs before the bytes that arrived meanwhile are read, and would reset every such connection after a long stall. Here a
 * due connection is checked once more after the event loop has read from all sockets.
 */
import type { Socket } from "node:net";
import type { Clock, TimerHandle } from "@perdure/base";
import { afterReading } from "./after-reading.js";

/** Checks per timeout: a connection is cut at most this share of the timeout late. */
const CHECKS = 10;

export class FirstHeaders {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** Sockets without a request yet, in the order in which they are due, and when that is. */
  readonly #waiting = new Map<Socket, number>();
  readonly #refuse: (socket: Socket) => void;
  #timer: TimerHandle | undefined;

  /** @param refuse answers a socket whose time is over, and ends it */
  constructor(clock: Clock, timeoutMs: number, refuse: (socket: Socket) => void) {
    this.#refuse = refuse;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Refuses the socket, unless `arrived` is called in time or it closes by itself. */
  expect(socket: Socket): void {
    this.#waiting.set(socket, this.#clock.monotonicMs() + this.#timeoutMs);
    socket.once("close", () => this.arrived(socket));
    this.#timer ??= this.#scheduleCheck();
  }

  /** The first request of this socket is here, or none will come. */
  arrived(socket: Socket): void {
    if (this.#waiting.size > 0) this.#waiting.delete(socket);
  }

  /** Stops the check, so that no connection is cut any more. */
  close(): void {
    this.#waiting.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #scheduleCheck(): TimerHandle {
    return this.#clock.setTimer(this.#timeoutMs / CHECKS, () => {
      const nowMs = this.#clock.monotonicMs();
      for (const [socket, dueMs] of this.#waiting) {
        if (dueMs > nowMs) break;
        afterReading(() => this.#cut(socket));
      }
      this.#timer = this.#waiting.size > 0 ? this.#scheduleCheck() : undefined;
    });
  }

  #cut(socket: Socket): void {
    if (this.#waiting.delete(socket)) this.#refuse(socket);
  }
}
