/**
 * Why: some HTTP/2 frames cost their sender nothing and us a little each time: resets of streams just opened, PINGs, SETTINGS. A
 * connection that sends more of them than any program has a use for is told to calm down and closed (cloud.md §6.5, T21).
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "@perdure/base";
import { CONTROL_FRAMES_MAX, CONTROL_WINDOW_MS, KEEP_ALIVE_MS, PING_TIMEOUT_MS } from "./limits.js";

export class Http2Guard {
  readonly #session: ServerHttp2Session;
  readonly #clock: Clock;
  readonly #onFlood: () => void;
  #windowAtMs: number;
  #frames = 0;
  #pingAtMs: number | undefined;
  #lastPingMs: number;
  #streams = 0;

  constructor(session: ServerHttp2Session, clock: Clock, onFlood: () => void) {
    this.#session = session;
    this.#clock = clock;
    this.#onFlood = onFlood;
    this.#windowAtMs = clock.monotonicMs();
    this.#lastPingMs = this.#windowAtMs;
    session.on("ping", () => this.#count());
    session.on("remoteSettings", () => this.#count());
  }

  get isIdle(): boolean {
    return this.#streams === 0;
  }

  opened(stream: ServerHttp2Stream): void {
    this.#streams++;
    stream.once("close", () => this.#streams--);
    if (stream.aborted) this.#count();
    else stream.once("aborted", () => this.#count());
  }

  #count(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#windowAtMs >= CONTROL_WINDOW_MS) {
      this.#windowAtMs = nowMs;
      this.#frames = 0;
    }
    if (++this.#frames <= CONTROL_FRAMES_MAX || this.#session.destroyed) return;
    this.#onFlood();
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#session.destroy();
  }

  /** Asks a silent peer whether it is still there, and gives up one that does not say. Called now and then. */
  sweep(nowMs: number): void {
    if (this.#session.destroyed) return;
    if (this.#pingAtMs !== undefined) {
      if (nowMs - this.#pingAtMs > PING_TIMEOUT_MS) this.#session.destroy();
      return;
    }
    if (this.isIdle || nowMs - this.#lastPingMs < KEEP_ALIVE_MS) return;
    this.#pingAtMs = nowMs;
    this.#lastPingMs = nowMs;
    this.#session.ping(() => {
      this.#pingAtMs = undefined;
    });
  }
}
