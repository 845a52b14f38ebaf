/**
 * Bounds HTTP/2 frames that cost their sender nothing and a server a little: resets of streams just opened, PINGs, SETTINGS. A connection
 * that sends more of them than any program needs is closed with ENHANCE_YOUR_CALM (cloud.md §6.5, T21). Finds peers that vanished by PINGs.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "@perdure/base";

export interface Http2GuardOptions {
  /** Frames in `controlWindowMs` above which the connection is closed. */
  readonly controlFramesMax: number;
  readonly controlWindowMs: number;
  /** A PING is sent to a peer with open streams after this much silence, and must be answered within `pingTimeoutMs`. */
  readonly keepAliveMs: number;
  readonly pingTimeoutMs: number;
  /** A connection was closed because of the frames that it sent. */
  readonly flooded: () => void;
}

export class Http2Guard {
  readonly #session: ServerHttp2Session;
  readonly #clock: Clock;
  readonly #options: Http2GuardOptions;
  #windowAtMs: number;
  #frames = 0;
  #pingAtMs: number | undefined;
  #lastPingMs: number;
  #streams = 0;

  constructor(session: ServerHttp2Session, clock: Clock, options: Http2GuardOptions) {
    this.#session = session;
    this.#clock = clock;
    this.#options = options;
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
    if (nowMs - this.#windowAtMs >= this.#options.controlWindowMs) {
      this.#windowAtMs = nowMs;
      this.#frames = 0;
    }
    if (++this.#frames <= this.#options.controlFramesMax || this.#session.destroyed) return;
    this.#options.flooded();
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    this.#session.destroy();
  }

  /** Sends a PING to a silent peer, and closes a connection whose PING was not answered. Called at intervals. */
  sweep(nowMs: number): void {
    if (this.#session.destroyed) return;
    if (this.#pingAtMs !== undefined) {
      if (nowMs - this.#pingAtMs > this.#options.pingTimeoutMs) this.#session.destroy();
      return;
    }
    if (this.isIdle || nowMs - this.#lastPingMs < this.#options.keepAliveMs) return;
    this.#pingAtMs = nowMs;
    this.#lastPingMs = nowMs;
    this.#session.ping(() => {
      this.#pingAtMs = undefined;
    });
  }
}
