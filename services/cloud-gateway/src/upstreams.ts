/**
 * Pools of connections to runtimes, one for each environment: what a request of one tenant leaves on a connection can only affect that
 * tenant (cloud.md §7, T3). HTTP/1.1 with one request at a time on each connection, by undici: half the cost of `node:http`, and a client
 * that reads slowly delays no other (measurements are in docs/decisions).
 */
import type { Clock } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { Pool } from "undici";
import { CONNECT_TIMEOUT_MS, IN_FLIGHT_MAX, UPSTREAM_EVICT_MS, UPSTREAM_HEADER_BYTES_MAX, UPSTREAM_IDLE_MS } from "./limits.js";

export class UpstreamPool {
  readonly pool: Pool;
  /** Requests under way. */
  active = 0;
  usedAtMs: number;

  constructor(origin: string, nowMs: number) {
    this.usedAtMs = nowMs;
    this.pool = new Pool(origin, {
      connections: IN_FLIGHT_MAX,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      keepAliveTimeout: UPSTREAM_IDLE_MS,
      keepAliveMaxTimeout: UPSTREAM_IDLE_MS,
      headersTimeout: 0, // The gateway enforces its own time limits, all on one timer.
      bodyTimeout: 0,
      maxHeaderSize: UPSTREAM_HEADER_BYTES_MAX,
    });
  }
}

export class Upstreams implements AsyncDisposable {
  readonly #clock: Clock;
  /** Pools by environment and origin: another tenant may get the same port later. */
  readonly #all = new Map<string, UpstreamPool>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#all.size;
  }

  of(id: EnvironmentId, origin: string): UpstreamPool {
    const name = `${id} ${origin}`;
    const nowMs = this.#clock.monotonicMs();
    let upstream = this.#all.get(name);
    if (upstream === undefined) {
      upstream = new UpstreamPool(origin, nowMs);
      this.#all.set(name, upstream);
    }
    upstream.usedAtMs = nowMs;
    return upstream;
  }

  /** Closes the connections to runtimes without requests. */
  sweep(nowMs: number): void {
    for (const [name, { active, usedAtMs, pool }] of this.#all) {
      if (active > 0 || nowMs - usedAtMs < UPSTREAM_EVICT_MS) continue;
      this.#all.delete(name);
      void pool.destroy(); // No request uses it; this only closes sockets.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#all.values()];
    this.#all.clear();
    await Promise.all(all.map(({ pool }) => pool.destroy()));
  }
}
