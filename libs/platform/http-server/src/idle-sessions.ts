/**
 * Closes HTTP/2 connections without traffic. Node's `session.setTimeout` would do that, but its timer keeps a destroyed session in memory
 * until it is due: a client that breaks connections would fill the memory with them.
 *
 * A closed session is nevertheless kept for a while. Node 24.21 aborts the process (`current_nghttp2_memory_`) when a session is collected
 * before a stream of it that holds headers; after that time all references to its streams, e.g. a timer for the rest of a body, are gone.
 */
import type { ServerHttp2Session } from "node:http2";
import { type Clock, Ring, type TimerHandle } from "@perdure/base";

/** Checks per timeout: a session is closed at most this share of it late. */
const CHECKS = 5;
/** Time for which a closed session is kept: far beyond the two seconds for which the rest of a body is awaited. */
const CLOSED_KEPT_MS = 30_000;
/** Some 15 KiB each. With more, the oldest are kept for a shorter time. */
const CLOSED_KEPT_MAX = 4_096;

interface WatchedSession {
  /** Read and written so far. */
  bytes: number;
  sinceMs: number;
}

interface Closed {
  readonly session: ServerHttp2Session;
  readonly atMs: number;
}

export class IdleSessions {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #onIdle: (session: ServerHttp2Session) => void;
  readonly #watched = new Map<ServerHttp2Session, WatchedSession>();
  readonly #closed = new Ring<Closed>();
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

  /** Sessions that are closed and kept for a while. */
  get closedCount(): number {
    return this.#closed.length;
  }

  watch(session: ServerHttp2Session): void {
    this.#watched.set(session, { bytes: bytesOf(session), sinceMs: this.#clock.monotonicMs() });
    session.once("close", () => this.#keepClosed(session));
    this.#timer ??= this.#arm();
  }

  /** Watches and keeps nothing any more. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#watched.clear();
    while (this.#closed.length > 0) this.#closed.shift();
  }

  #keepClosed(session: ServerHttp2Session): void {
    if (!this.#watched.delete(session)) return;
    this.#closed.push({ session, atMs: this.#clock.monotonicMs() });
    if (this.#closed.length > CLOSED_KEPT_MAX) this.#closed.shift();
  }

  #arm(): TimerHandle {
    return this.#clock.setTimer(Math.min(this.#timeoutMs / CHECKS, CLOSED_KEPT_MS), () => {
      this.#check();
      this.#timer = this.#watched.size > 0 || this.#closed.length > 0 ? this.#arm() : undefined;
    });
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs();
    while ((this.#closed.peek()?.atMs ?? nowMs) <= nowMs - CLOSED_KEPT_MS) this.#closed.shift();
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
