/**
 * Refreshes the copy of the registry for requests without a route. A gateway receives a registration a moment after the registry has
 * confirmed it, and would refuse a call in between because the service does not exist. Such a request is held until the registries have
 * been read once more.
 */
import { type Clock, pause } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import { REFRESH_PAUSE_FACTOR, REFRESH_PAUSE_MS_MIN, REFRESH_WAITERS_MAX } from "./limits.js";
import { type IngressRoute, routeOf } from "./route.js";

/** Resolves with the present state of each reachable registry; never rejects. */
export type ReadRegistries = () => Promise<readonly RegistrySnapshot[]>;

/**
 * Reads the registries for requests without a route. Requests that arrive before a read begins share it, and reads follow each other at a
 * multiple of the last one's duration: a client that calls random names costs a registry a bounded part of its time. Absence is not
 * cached, since a service may be registered before the next request.
 */
export class RouteRefresher {
  readonly #read: ReadRegistries;
  readonly #clock: Clock;
  /** The read that has not begun. */
  #next: Promise<readonly RegistrySnapshot[]> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Monotonic. */
  #freeAtMs = 0;
  #waiting = 0;

  constructor(read: ReadRegistries, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  /**
   * Resolves with a route for `path` from a state that is read from now on; undefined when no state has one, or too many requests wait.
   */
  routeOf(path: string): Promise<IngressRoute | undefined> {
    return this.find((snapshot) => {
      const route = routeOf(path, snapshot);
      return route.kind === "refused" ? undefined : route;
    });
  }

  /** The same for any other value that a state may have. */
  async find<T>(search: (snapshot: RegistrySnapshot) => T | undefined): Promise<T | undefined> {
    if (this.#waiting >= REFRESH_WAITERS_MAX) return undefined;
    this.#waiting++;
    try {
      this.#next ??= this.#begin(this.#last);
      for (const snapshot of await this.#next) {
        const match = search(snapshot);
        if (match !== undefined) return match;
      }
      return undefined;
    } finally {
      this.#waiting--;
    }
  }

  async #begin(last: Promise<unknown>): Promise<readonly RegistrySnapshot[]> {
    await last;
    const pauseMs = this.#freeAtMs - this.#clock.monotonicMs();
    if (pauseMs > 0) await pause(this.#clock, pauseMs);
    this.#next = undefined; // A request from here on must not be served by a state that was read before the request.
    const startedAtMs = this.#clock.monotonicMs();
    const reading = this.#read();
    this.#last = reading;
    const snapshots = await reading;
    const endedAtMs = this.#clock.monotonicMs();
    this.#freeAtMs = endedAtMs + Math.max(REFRESH_PAUSE_MS_MIN, REFRESH_PAUSE_FACTOR * (endedAtMs - startedAtMs));
    return snapshots;
  }
}
