/**
 * Ends open requests of sessions that are over. A session is checked when a request arrives, but the answer may take hours. So the
 * sessions of all open requests are polled: signing out, ending the session elsewhere or changing the password ends the requests too.
 */
import { type Clock, type Logger, PerdureError, type TimerHandle } from "@perdure/base";
import type { SessionRecord } from "@perdure/postgres";
import { SESSIONS_POLL_MS } from "./limits.js";

interface SessionWatchPorts {
  /** Returns the ids of sessions that are not over. */
  readonly living: (ids: readonly string[]) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SessionWatch {
  readonly #ports: SessionWatchPorts;
  /** Callbacks by session. As many as there may be proxied requests. */
  readonly #open = new Map<string, Set<() => void>>();
  #timer: TimerHandle | undefined;
  #looking: Promise<void> | undefined;

  constructor(ports: SessionWatchPorts) {
    this.#ports = ports;
  }

  /** Calls `end` once when the session is over. Returns a function that cancels this, which is idempotent. Polls only while watched. */
  watch({ id }: Pick<SessionRecord, "id">, end: () => void): () => void {
    const ends = this.#open.get(id) ?? new Set();
    const own = (): void => end();
    this.#open.set(id, ends.add(own));
    this.#arm();
    return () => {
      if (!ends.delete(own) || ends.size > 0) return;
      if (this.#open.get(id) === ends) this.#open.delete(id);
      if (this.#open.size > 0) return;
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#looking !== undefined || this.#open.size === 0) return;
    this.#timer = this.#ports.clock.setTimer(SESSIONS_POLL_MS, () => {
      this.#timer = undefined;
      this.#looking = this.#poll();
    });
  }

  /** Never rejects. */
  async #poll(): Promise<void> {
    const sessionIds = [...this.#open.keys()];
    try {
      const living = new Set(await this.#ports.living(sessionIds));
      for (const id of sessionIds) {
        if (living.has(id)) continue;
        const ends = [...(this.#open.get(id) ?? [])];
        this.#open.delete(id);
        for (const end of ends) end();
      }
    } catch (cause) {
      // An unreachable database ends no request; sessions are checked when it is back.
      const { code, detail } = PerdureError.from(cause);
      this.#ports.logger.warn({ code, reason: detail }, "sessions of open requests could not be checked; trying again");
    } finally {
      this.#looking = undefined;
      this.#arm();
    }
  }
}
