/** Environments as the gateway sees them: facts from tenancy, cached for a while, and the gateway's own counters. */
import { BoundedCache, type CacheLifetime, type Clock, LoadingCache, PerdureError, TokenBucket } from "@perdure/base";
import {
  type BareEnvironmentId,
  bareOf,
  type EnvironmentFacts,
  type EnvironmentId,
  type Rate,
  type Tenancy,
  type TenancyChange,
} from "@perdure/cloud";
import type { ClientAddress } from "./addresses.js";
import { FairQueueLine } from "./fair-queue.js";
import type { GatewayRequest } from "./gateway-request.js";
import {
  ENVIRONMENTS_MAX,
  IN_FLIGHT_MAX,
  IN_FLIGHT_MIN,
  IN_FLIGHT_PER_CONCURRENT,
  LOOKUP_JITTER,
  LOOKUPS_MAX,
  NEGATIVE_TTL_MS,
  POSITIVE_TTL_MS,
  REFRESH_AFTER_MS,
  SLEEP_TTL_MS,
  STALE_MS,
  UNKNOWN_ENTRIES_MAX,
} from "./limits.js";
import { RefusalPace } from "./pace.js";
import { RateMeter } from "./rate-shares.js";
import type { Totals, UsageBook } from "./usage.js";

/** Listeners of the gateway. */
export type GatewayEndpoint = "ingress" | "admin";

/** Counters of one endpoint of an environment. */
interface EndpointState {
  readonly bucket: TokenBucket;
  readonly meter: RateMeter;
  readonly pace: RefusalPace;
}

/** State that outlasts changes of the facts. */
class EnvironmentState {
  readonly ingress: EndpointState;
  readonly admin: EndpointState;
  readonly totals: Totals;
  /** Admitted requests, until they are answered. */
  inFlight = 0;
  /** Requests that wait for their turn to be forwarded. */
  readonly line = new FairQueueLine<GatewayRequest>();

  constructor({ id, limits }: EnvironmentFacts, totals: Totals, nowMs: number) {
    const stateOf = (name: GatewayEndpoint, rate: Rate): EndpointState => ({
      bucket: new TokenBucket(rate, nowMs),
      meter: new RateMeter(id, name),
      pace: new RefusalPace(nowMs),
    });
    this.ingress = stateOf("ingress", limits.ingressRate);
    this.admin = stateOf("admin", limits.adminRate);
    this.totals = totals;
  }
}

export interface GatewayEnvironment {
  readonly facts: EnvironmentFacts;
  readonly state: EnvironmentState;
}

/**
 * `unknown`: the environment never existed or is deleted. `throttled`: nothing was looked up, because too many failures came from this
 * address.
 */
export type EnvironmentLookup = GatewayEnvironment | "unknown" | "throttled";
type CachedEnvironment = GatewayEnvironment | "unknown";

const ACTIVE = { ttlMs: POSITIVE_TTL_MS, refreshAfterMs: REFRESH_AFTER_MS, staleMs: STALE_MS };
/** Freshness of facts that are about to change: the change event may be lost. */
const BRIEF = { ttlMs: NEGATIVE_TTL_MS, staleMs: STALE_MS };
const SLEEPING = { ttlMs: SLEEP_TTL_MS, staleMs: STALE_MS };
const UNKNOWN = { ttlMs: NEGATIVE_TTL_MS, isNegative: true };

export class GatewayEnvironments {
  readonly #tenancy: Tenancy;
  readonly #clock: Clock;
  readonly #usage: UsageBook;
  readonly #cache: LoadingCache<BareEnvironmentId, CachedEnvironment>;
  readonly #states = new BoundedCache<EnvironmentId, EnvironmentState>({ entriesMax: ENVIRONMENTS_MAX });

  constructor(tenancy: Tenancy, clock: Clock, usage: UsageBook) {
    this.#tenancy = tenancy;
    this.#clock = clock;
    this.#usage = usage;
    this.#cache = new LoadingCache<BareEnvironmentId, CachedEnvironment>({
      clock,
      entriesMax: ENVIRONMENTS_MAX,
      negativeEntriesMax: UNKNOWN_ENTRIES_MAX,
      loadsMax: LOOKUPS_MAX,
      lifetimeOf,
      jitter: LOOKUP_JITTER,
      overloaded: () => new PerdureError("TEN0001", "too many environments are being looked up"),
    });
  }

  get stats(): { readonly hits: number; readonly misses: number; readonly staleHits: number; readonly entries: number } {
    return { hits: this.#cache.hits, misses: this.#cache.misses, staleHits: this.#cache.staleHits, entries: this.#cache.size };
  }

  /** Synchronous on a cache hit. Rejects with TEN0001 when tenancy cannot be reached and the cache has no usable entry. */
  find(bare: BareEnvironmentId, address: ClientAddress): EnvironmentLookup | Promise<EnvironmentLookup> {
    const load = (): Promise<CachedEnvironment> => this.#load(bare);
    const cached = this.#cache.fresh(bare, load);
    if (cached !== undefined && cached !== "unknown") return cached;
    const nowMs = this.#clock.monotonicMs();
    if (cached === "unknown") {
      address.unauthorized.take(nowMs); // Names are guessed as keys are.
      return "unknown";
    }
    return address.mayLookUp(nowMs) ? this.#lookUp(bare, address, load) : "throttled";
  }

  /** Looks up an environment that existed a moment ago, for admitted requests; no address is charged. Rejects as `find` does. */
  async again(bare: BareEnvironmentId): Promise<CachedEnvironment> {
    const load = (): Promise<CachedEnvironment> => this.#load(bare);
    const cached = this.#cache.fresh(bare, load);
    return cached === undefined || cached === "unknown" ? this.#cache.load(bare, load) : cached;
  }

  applyChange(change: TenancyChange): void {
    if (change.kind === "everything") {
      this.#cache.outdateAll();
    } else if (change.kind === "environment") {
      this.#cache.evict(bareOf(change.id));
    }
  }

  async #lookUp(
    bare: BareEnvironmentId,
    address: ClientAddress,
    load: () => Promise<CachedEnvironment>,
  ): Promise<CachedEnvironment> {
    address.lookups++;
    try {
      const loaded = await this.#cache.load(bare, load);
      if (loaded === "unknown") address.unauthorized.overdraw(this.#clock.monotonicMs());
      return loaded;
    } finally {
      address.lookups--;
    }
  }

  async #load(bare: BareEnvironmentId): Promise<CachedEnvironment> {
    const facts = await this.#tenancy.environment(bare);
    return facts === undefined ? "unknown" : { facts, state: this.#stateOf(facts) };
  }

  #stateOf(facts: EnvironmentFacts): EnvironmentState {
    return this.#states.getOrCreate(facts.id, () => {
      return new EnvironmentState(facts, this.#usage.of(facts.id), this.#clock.monotonicMs());
    });
  }
}

function lifetimeOf(cached: CachedEnvironment): CacheLifetime {
  if (cached === "unknown") return UNKNOWN;
  if (cached.facts.sleep !== undefined) return SLEEPING;
  return cached.facts.status === "ACTIVE" ? ACTIVE : BRIEF;
}

/** Bound of the requests of an environment that wait for its runtime at this gateway. */
export function inFlightMaxOf({ limits }: EnvironmentFacts): number {
  return Math.min(IN_FLIGHT_MAX, Math.max(IN_FLIGHT_MIN, limits.concurrentInvocationsMax * IN_FLIGHT_PER_CONCURRENT));
}
