/**
 * Why: a session is looked at when a request comes, and what it asked of an environment may be answered for hours. So the sessions of all
 * that is open are looked at again and again: whoever signs out, is ended from elsewhere, or changes the password ends that, too.
 */
import { type Clock, type Logger, PerdureError, type TimerHandle } from "@perdure/base";
import type { SessionRecord } from "@perdure/driver-postgres";
import { SESSIONS_POLL_MS } from "../limits.js";

export interface SessionWatchPorts {
  /** Which of these are not over. */
  readonly living: (ids: readonly string[]) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SessionWatch {
  readonly #ports: SessionWatchPorts;
  /** What to call, by session. As many as requests may be passed on at once. */
  readonly #open = new Map<string, Set<() => void>>();
  #timer: TimerHandle | undefined;
  #looking: Promise<void> | undefined;

  constructor(ports: SessionWatchPorts) {
    this.#ports = ports;
  }

  /** Calls `end` once when the session is over. Returns how to stop, which is idempotent; without anybody nothing is looked at. */
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
      // Nobody is cut off because the database is away; it says so when it is back.
      const { code, detail } = PerdureError.from(cause);
      this.#ports.logger.warn({ code, reason: detail }, "sessions of open requests could not be looked at; trying again");
    } finally {
      this.#looking = undefined;
      this.#arm();
    }
  }
}
