/**
 * Collects events of tunnels (opened, closed, refused) for the audit log of their environments; the next report carries them to tenancy.
 * Clients without access can cause any number of refusals, so each environment has a rate of events, and the next event has the number of
 * omitted ones.
 */
import { BoundedCache, type Clock, TokenBucket } from "@perdure/base";
import type { EnvironmentId, TunnelEvent } from "@perdure/cloud";
import { AUDIT_ENVIRONMENTS_MAX, AUDIT_LINES_PER_WINDOW, AUDIT_WAITING_MAX, AUDIT_WINDOW_MS } from "./limits.js";

/** Events that one environment may have, and the number of omitted ones since the last that it had. */
interface EventRate {
  readonly bucket: TokenBucket;
  omitted: number;
}

const RATE = { perSecond: AUDIT_LINES_PER_WINDOW / (AUDIT_WINDOW_MS / 1_000), burst: AUDIT_LINES_PER_WINDOW };

export class TunnelAudit {
  readonly #clock: Clock;
  /** Rates by environment; refusals are counted apart from tunnels that were opened or closed. */
  readonly #rates = new BoundedCache<string, EventRate>({ entriesMax: AUDIT_ENVIRONMENTS_MAX });
  #waiting: TunnelEvent[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(environmentId: EnvironmentId, event: Omit<TunnelEvent, "environmentId" | "atMs" | "omitted">): void {
    const nowMs = this.#clock.monotonicMs();
    const key = `${event.kind === "refused"} ${environmentId}`;
    const rate = this.#rates.getOrCreate(key, () => ({ bucket: new TokenBucket(RATE, nowMs), omitted: 0 }));
    if (this.#waiting.length >= AUDIT_WAITING_MAX || !rate.bucket.take(nowMs)) {
      rate.omitted++;
      return;
    }
    this.#waiting.push({ ...event, environmentId, atMs: this.#clock.nowMs(), omitted: rate.omitted });
    rate.omitted = 0;
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
}
