/**
 * What a leader has in memory about state that expires: the settings of services, which services have objects with a time to live of their
 * own, and a time before which no timer of state is due. Where no state expires, nothing else is read for it.
 */
import {
  isThrottleTimer,
  type Mutation,
  OWN_TTL_SERVICES_KEY,
  type ServiceTtl,
  STATE_TTL_SERVICE,
  type StateTtls,
} from "@perdure/state-machine";
import type { StoredStateTtls } from "@perdure/storage";

/** Returns the time to live of the state of a service's objects, from the registry. */
export type StateTtlSource = (service: string) => ServiceTtl;

const NEVER = Number.POSITIVE_INFINITY;

export class LiveStateTtls implements StateTtls {
  source: StateTtlSource | undefined;
  /** Services are only added: the stored rows are never deleted. */
  readonly #ownServices = new Set<string>();
  #dueFromMs = NEVER;
  /** Earliest timer that was put since the last read of stored timers began. */
  #putSinceMs = NEVER;

  get dueFromMs(): number {
    return this.#dueFromMs;
  }

  ofService(service: string): ServiceTtl {
    return this.source?.(service) ?? "never";
  }

  hasOwn(service: string): boolean {
    return this.#ownServices.has(service);
  }

  /** Adds the stored rows, when leadership starts. */
  restore({ ownServices, firstDueAtMs = NEVER }: StoredStateTtls): void {
    for (const service of ownServices) this.#ownServices.add(service);
    this.#dueFromMs = Math.min(this.#dueFromMs, firstDueAtMs);
  }

  /** A mutation is applied. It may be taken back: that a timer or a service is missing later does no harm. */
  applied(mutation: Mutation): void {
    if (mutation.kind === "putTimer" && mutation.timer.kind === "expireState" && !isThrottleTimer(mutation.timer)) {
      this.#dueFromMs = Math.min(this.#dueFromMs, mutation.timer.dueAtMs);
      this.#putSinceMs = Math.min(this.#putSinceMs, mutation.timer.dueAtMs);
    } else if (mutation.kind === "putState" && mutation.service === STATE_TTL_SERVICE && mutation.key === OWN_TTL_SERVICES_KEY) {
      this.#ownServices.add(mutation.stateKey);
    }
  }

  /** Call when everything that was applied before a read of the stored timers can be read, and before it begins. */
  beginRead(): void {
    this.#putSinceMs = NEVER;
  }

  /** The timers that were due have fired; `nextDueAtMs` is the due time of the first one behind them. */
  endRead(nextDueAtMs: number): void {
    this.#dueFromMs = Math.min(nextDueAtMs, this.#putSinceMs);
  }
}
