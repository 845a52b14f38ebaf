/**
 * Why: HTTP/2 connections without traffic are closed. Node's `session.setTimeout` would do it, but its timer outlives a session that is
 * destroyed, and keeps it in memory until it is due: a client that breaks connections fills the memory with them.
 */
import type { ServerHttp2Session } from "node:http2";
import type { Clock, TimerHandle } from "@perdure/base";

/** Checks per timeout: a session is closed at most this share of it late. */
const CHECKS = 5;

interface Watched {
  /** Read and written so far. */
  bytes: number;
  sinceMs: number;
}

export class IdleSessions {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #onIdle: (session: ServerHttp2Session) => void;
  readonly #watched = new Map<ServerHttp2Session, Watched>();
  #timer: TimerHandle | undefined;

  /** `onIdle`: nothing was read or written for `timeoutMs`; called again after as long when the session is still there. */
  constructor(clock: Clock, timeoutMs: number, onIdle: (session: ServerHttp2Session) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#onIdle = onIdle;
  }

  /** Sessions that are not closed yet. */
  get size(): number {
    return this.#watched.size;
  }

  watch(session: ServerHttp2Session): void {
    this.#watched.set(session, { bytes: bytesOf(session), sinceMs: this.#clock.monotonicMs() });
    session.once("close", () => this.#forget(session));
    this.#timer ??= this.#arm();
  }

  #forget(session: ServerHttp2Session): void {
    this.#watched.delete(session);
    if (this.#watched.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): TimerHandle {
    return this.#clock.setTimer(this.#timeoutMs / CHECKS, () => {
      this.#check();
      this.#timer = this.#watched.size > 0 ? this.#arm() : undefined;
    });
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [session, watched] of this.#watched) {
      if (session.destroyed) continue;
      const bytes = bytesOf(session);
      if (bytes === watched.bytes && nowMs - watched.sinceMs < this.#timeoutMs) continue;
      const isIdle = bytes === watched.bytes;
      watched.bytes = bytes;
      watched.sinceMs = nowMs;
      if (isIdle) this.#onIdle(session);
    }
  }
}

function bytesOf({ socket }: ServerHttp2Session): number {
  return socket.bytesRead + socket.bytesWritten;
}
