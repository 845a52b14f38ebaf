/**
 * Collects events of tunnels (opened, closed, refused) for the audit log of their environments; the next report carries them to tenancy.
 * Clients without access can cause any number of refusals, so each environment has a bound of events per window, and the next event has
 * the number of omitted ones.
 */
import type { Clock } from "@perdure/base";
import type { EnvironmentId, TunnelEvent } from "@perdure/cloud";
import { AUDIT_ENVIRONMENTS_MAX, AUDIT_LINES_PER_WINDOW, AUDIT_WAITING_MAX, AUDIT_WINDOW_MS } from "./limits.js";

/** Events of one environment in the current window. Refusals are counted apart from tunnels that were opened or closed. */
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

  /** Events that are not reported yet, oldest first. */
  get waiting(): readonly TunnelEvent[] {
    return this.#waiting;
  }

  /** Removes events that tenancy has stored. */
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
