/**
 * Bounds HTTP/2 frames that cost their sender nothing and the gateway a little: resets of streams just opened, PINGs, SETTINGS. A
 * connection that sends more of them than any program needs is closed with ENHANCE_YOUR_CALM (cloud.md §6.5, T21).
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

  /** Sends a PING to a silent peer, and closes a connection whose PING was not answered. Called at intervals. */
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
