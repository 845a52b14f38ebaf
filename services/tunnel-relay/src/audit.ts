/**
 * Why: the owner of an environment reads in the audit log who opened and closed tunnels into it, and who was refused. Events go to tenancy with
 * the next report. Strangers can be refused as often as they like: an environment has so many lines in ten minutes, and the next line
 * says how many were left out.
 */
import type { Clock } from "@perdure/base";
import type { EnvironmentId, TunnelEvent } from "@perdure/cloud";
import { AUDIT_ENVIRONMENTS_MAX, AUDIT_LINES_PER_WINDOW, AUDIT_WAITING_MAX, AUDIT_WINDOW_MS } from "./limits.js";

/** Refusals do not use up the lines of tunnels that were let in. */
interface RefusalCounter {
  window: number;
  lines: number;
  omitted: number;
}

export class TunnelAudit {
  readonly #clock: Clock;
  readonly #counters = new Map<string, RefusalCounter>();
  #waiting: TunnelEvent[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(environmentId: EnvironmentId, event: Omit<TunnelEvent, "environmentId" | "atMs" | "omitted">): void {
    const counter = this.#counterOf(`${event.kind === "refused"} ${environmentId}`);
    if (counter.lines >= AUDIT_LINES_PER_WINDOW || this.#waiting.length >= AUDIT_WAITING_MAX) {
      counter.omitted++;
      return;
    }
    counter.lines++;
    this.#waiting.push({ ...event, environmentId, atMs: this.#clock.nowMs(), omitted: counter.omitted });
    counter.omitted = 0;
  }

  /** What is not reported yet, oldest first. */
  get waiting(): readonly TunnelEvent[] {
    return this.#waiting;
  }

  /** Tenancy has them. */
  reported(events: readonly TunnelEvent[]): void {
    const reportedEvents = new Set(events);
    this.#waiting = this.#waiting.filter((event) => !reportedEvents.has(event));
  }

  #counterOf(key: string): RefusalCounter {
    const window = Math.floor(this.#clock.monotonicMs() / AUDIT_WINDOW_MS);
    const counter = this.#counters.get(key) ?? { window, lines: 0, omitted: 0 };
    if (counter.window !== window) Object.assign(counter, { window, lines: 0 });
    this.#counters.delete(key);
    if (this.#counters.size >= AUDIT_ENVIRONMENTS_MAX) this.#counters.delete(this.#counters.keys().next().value as string);
    this.#counters.set(key, counter);
    return counter;
  }
}
