/**
 * The HTTP/2 connections to one origin. Streams go to the first connection with a free stream; when all are full another connection is
 * opened, and streams wait in order until one has a free stream.
 */
import { Ring } from "@perdure/base";
import type { TransportFailure } from "@perdure/endpoint-transport";
import { refusedFailure } from "./admit.js";
import type { EndpointBase } from "./endpoint-base.js";
import { PooledSession, type SessionDeps, type SessionOwner } from "./http2-session.js";
import type { Http2EndpointStream } from "./http2-stream.js";
import { SESSIONS_PER_ORIGIN_MAX, STREAMS_PER_SESSION_MAX, WAITING_STREAMS_MAX } from "./limits.js";

export class Http2Pool implements SessionOwner {
  readonly #base: EndpointBase;
  readonly #deps: SessionDeps;
  /** Connecting or ready. */
  readonly #sessions: PooledSession[] = [];
  /** Take no more streams but still hold a socket. */
  readonly #draining = new Set<PooledSession>();
  readonly #waiting = new Ring<Http2EndpointStream>();
  /** Some of them wait for the first connection, which may never be ready: that is the endpoint's silence, and its timeouts count. */
  #someAwaitFirst = false;

  /** Functions that report the end of a connection to the guard; empty without a guard. */
  readonly #releases = new Map<PooledSession, () => void>();
  readonly #onUnused: () => void;

  /** @param onUnused called when no connection is open and no stream waits: the pool may be dropped */
  constructor(base: EndpointBase, deps: SessionDeps, onUnused: () => void) {
    this.#base = base;
    this.#deps = deps;
    this.#onUnused = onUnused;
  }

  open(stream: Http2EndpointStream): void {
    if (this.#waiting.length === 0) {
      const session = this.#sessionFor(stream);
      if (session !== undefined) return session.open(stream);
    }
    if (this.#waiting.length >= WAITING_STREAMS_MAX) {
      queueMicrotask(() =>
        stream.fail({ kind: "connect", message: `too many requests wait for a connection to ${this.#base.authority}` }),
      );
      return;
    }
    this.#waiting.push(stream);
    if (this.#sessions.every(({ connecting }) => connecting)) this.#someAwaitFirst = true;
    else stream.wait();
    this.#connectIfNeeded();
  }

  /**
   * The first session with a free stream and without a large message under way. When all are busy with large messages, the next streams get
   * another connection, and this one does not wait for it: perhaps the peer accepts no more. A large stream prefers a busy connection, so
   * that few are busy.
   */
  #sessionFor(stream: Http2EndpointStream): PooledSession | undefined {
    let busy: PooledSession | undefined;
    let free: PooledSession | undefined;
    for (const session of this.#sessions) {
      if (session.capacity <= 0) continue;
      if (session.isBusyWithLargeMessage) busy ??= session;
      else free ??= session;
      if (!stream.isLarge && free !== undefined) return free;
    }
    if (stream.isLarge) return busy ?? free;
    if (busy !== undefined && this.#sessions.length < SESSIONS_PER_ORIGIN_MAX && !this.#sessions.some((each) => each.connecting))
      this.#connect();
    return busy;
  }

  addCounts(counts: { connecting: number; open: number; draining: number }): void {
    for (const session of this.#sessions) {
      if (session.connecting) counts.connecting++;
      else counts.open++;
    }
    counts.draining += this.#draining.size;
  }

  onCapacity(session: PooledSession): void {
    while (this.#waiting.length > 0 && session.capacity > 0) {
      const stream = this.#waiting.shift()!;
      if (!stream.over) session.open(stream);
    }
    if (this.#waiting.length === 0) return;
    if (this.#someAwaitFirst) for (const stream of this.#waiting) stream.wait();
    this.#someAwaitFirst = false;
    this.#connectIfNeeded();
  }

  /**
   * A session that never became ready fails the waiting streams; their callers retry by their own policy, which is slower than retries here
   * would be.
   */
  gone(session: PooledSession, failure: TransportFailure | undefined): void {
    const at = this.#sessions.indexOf(session);
    if (at >= 0) this.#sessions.splice(at, 1);
    this.#draining.add(session);
    if (failure === undefined) {
      if (this.#waiting.length > 0) this.#connectIfNeeded();
      return;
    }
    this.#failWaiting(failure);
    if (this.#waiting.length > 0) this.#connectIfNeeded();
  }

  closed(session: PooledSession): void {
    this.#draining.delete(session);
    this.#releases.get(session)?.();
    this.#releases.delete(session);
    if (this.#sessions.length === 0 && this.#draining.size === 0 && this.#waiting.length === 0) this.#onUnused();
  }

  /** Breaks every connection; streams that run or wait fail. */
  destroy(): void {
    // First: a connection that goes while streams wait is replaced by another one.
    while (this.#waiting.length > 0) this.#waiting.shift()!.fail({ kind: "reset", message: "the transport is closing" });
    for (const session of [...this.#sessions, ...this.#draining]) session.destroy();
  }

  /**
   * As many connections as the waiting streams would fill, at least one, on the assumption that another one takes as many streams as the
   * open ones.
   */
  #connectIfNeeded(): void {
    let each = STREAMS_PER_SESSION_MAX;
    let coming = 0;
    for (const session of this.#sessions) each = Math.min(each, session.streamsMax);
    for (const session of this.#sessions) if (session.connecting) coming += each;
    while (coming < this.#waiting.length && this.#sessions.length < SESSIONS_PER_ORIGIN_MAX) {
      const refusal = this.#connect();
      if (refusal !== undefined) return this.#refused(refusal);
      coming += each;
    }
  }

  /** Returns the failure when no connection may be opened. */
  #connect(): TransportFailure | undefined {
    const admission = this.#deps.guard?.admitOrigin(this.#base.origin);
    if (admission !== undefined && admission.kind !== "admitted") return refusedFailure(admission, this.#base.authority);
    const session = new PooledSession(this.#base, this, this.#deps, admission?.lookup);
    if (admission !== undefined) this.#releases.set(session, admission.release);
    this.#sessions.push(session);
    return undefined;
  }

  /** The waiting streams may still be served by the open connections. */
  #refused(failure: TransportFailure): void {
    if (this.#sessions.length > 0) return;
    queueMicrotask(() => {
      while (this.#sessions.length === 0 && this.#waiting.length > 0) this.#failWaiting(failure);
      if (this.#sessions.length === 0 && this.#draining.size === 0) this.#onUnused();
    });
  }

  /** Fails as many streams as one connection would have served. */
  #failWaiting(failure: TransportFailure): void {
    for (let left = Math.min(this.#waiting.length, STREAMS_PER_SESSION_MAX); left > 0; left--)
      this.#waiting.shift()!.fail(failure);
  }
}
