/** Why: what the gateway knows of each environment: tenancy's facts, believed for a while, and what only the gateway counts. */
import { type Clock, PerdureError } from "@perdure/base";
import {
  type BareEnvironmentId,
  bareOf,
  type EnvironmentFacts,
  type EnvironmentId,
  type Rate,
  type Tenancy,
  type TenancyNews,
} from "@perdure/cloud";
import type { Address } from "./addresses.js";
import { Line } from "./fair-queue.js";
import { FreshCache, type Freshness } from "./fresh-cache.js";
import {
  ENVIRONMENTS_MAX,
  IN_FLIGHT_MAX,
  IN_FLIGHT_MIN,
  IN_FLIGHT_PER_CONCURRENT,
  LOOKUPS_MAX,
  NEGATIVE_TTL_MS,
  POSITIVE_TTL_MS,
  SLEEP_TTL_MS,
  STALE_MS,
  STRANGERS_MAX,
} from "./limits.js";
import { Pace } from "./pace.js";
import { RateMeter } from "./rate-shares.js";
import { TokenBucket } from "./token-bucket.js";
import type { Totals, UsageBook } from "./usage.js";
import type { Visit } from "./visit.js";

/** The doors of the gateway. */
export type GatewayDoor = "ingress" | "admin";

/** What is counted for one door of an environment. */
export interface DoorState {
  readonly bucket: TokenBucket;
  readonly meter: RateMeter;
  readonly pace: Pace;
}

/** What stays when the facts change. */
export class EnvironmentState {
  readonly ingress: DoorState;
  readonly admin: DoorState;
  readonly totals: Totals;
  /** Admitted requests, until they are answered. */
  inFlight = 0;
  /** Those that wait for their turn to be forwarded. */
  readonly line = new Line<Visit>();

  constructor({ id, limits }: EnvironmentFacts, totals: Totals, nowMs: number) {
    const door = (name: GatewayDoor, { perSecond, burst }: Rate): DoorState => ({
      bucket: new TokenBucket(perSecond, burst, nowMs),
      meter: new RateMeter(id, name),
      pace: new Pace(nowMs),
    });
    this.ingress = door("ingress", limits.ingressRate);
    this.admin = door("admin", limits.adminRate);
    this.totals = totals;
  }
}

export interface Environment {
  readonly facts: EnvironmentFacts;
  readonly state: EnvironmentState;
}

/** `nobody`: it was never there, or is deleted. `throttled`: nothing was looked up, because too much that was wrong came from this address. */
export type Found = Environment | "nobody" | "throttled";
type Known = Environment | "nobody";

const ACTIVE = { ttlMs: POSITIVE_TTL_MS, staleMs: STALE_MS };
/** About to change, and news may be lost. */
const BRIEF = { ttlMs: NEGATIVE_TTL_MS, staleMs: STALE_MS };
const SLEEPING = { ttlMs: SLEEP_TTL_MS, staleMs: STALE_MS };
const NOT_KEPT = { ttlMs: 0, staleMs: 0 };

export class Environments {
  readonly #tenancy: Tenancy;
  readonly #clock: Clock;
  readonly #usage: UsageBook;
  readonly #known: FreshCache<BareEnvironmentId, Known>;
  readonly #states = new Map<EnvironmentId, EnvironmentState>();
  /** Names that are nobody's, and until when that is believed. */
  readonly #nobodies = new Map<BareEnvironmentId, number>();

  constructor(tenancy: Tenancy, clock: Clock, usage: UsageBook) {
    this.#tenancy = tenancy;
    this.#clock = clock;
    this.#usage = usage;
    this.#known = new FreshCache<BareEnvironmentId, Known>({
      clock,
      entriesMax: ENVIRONMENTS_MAX,
      loadsMax: LOOKUPS_MAX,
      freshness: freshnessOf,
      overloaded: () => new PerdureError("TEN0001", "too many environments are being looked up"),
    });
  }

  get stats(): { readonly hits: number; readonly misses: number; readonly staleHits: number; readonly entries: number } {
    return { hits: this.#known.hits, misses: this.#known.misses, staleHits: this.#known.staleHits, entries: this.#known.size };
  }

  /** At once for what is known. Rejects with TEN0001 when tenancy cannot be reached and nothing recent is known. */
  find(bare: BareEnvironmentId, address: Address): Found | Promise<Found> {
    const load = (): Promise<Known> => this.#load(bare);
    const known = this.#known.fresh(bare, load);
    if (known !== undefined) return known;
    const nowMs = this.#clock.monotonicMs();
    if ((this.#nobodies.get(bare) ?? 0) > nowMs) {
      address.unauthorized.take(nowMs); // Names are guessed like keys are.
      return "nobody";
    }
    return address.mayLookUp(nowMs) ? this.#lookUp(bare, address, load) : "throttled";
  }

  /** Of one that was there a moment ago, for whoever was let in: nobody's allowance is taken. Rejects as `find` does. */
  async again(bare: BareEnvironmentId): Promise<Known> {
    const load = (): Promise<Known> => this.#load(bare);
    return this.#known.fresh(bare, load) ?? this.#known.load(bare, load);
  }

  heard(news: TenancyNews): void {
    if (news.kind === "everything") {
      this.#nobodies.clear();
      this.#known.outdateAll();
    } else if (news.kind === "environment") {
      this.#nobodies.delete(bareOf(news.id));
      this.#known.forget(bareOf(news.id));
    }
  }

  async #lookUp(bare: BareEnvironmentId, address: Address, load: () => Promise<Known>): Promise<Known> {
    address.lookups++;
    try {
      const found = await this.#known.load(bare, load);
      if (found === "nobody") address.unauthorized.owe(this.#clock.monotonicMs());
      return found;
    } finally {
      address.lookups--;
    }
  }

  async #load(bare: BareEnvironmentId): Promise<Known> {
    const facts = await this.#tenancy.environment(bare);
    if (facts !== undefined) return { facts, state: this.#stateOf(facts) };
    if (this.#nobodies.size >= STRANGERS_MAX) this.#nobodies.delete(this.#nobodies.keys().next().value as BareEnvironmentId);
    this.#nobodies.set(bare, this.#clock.monotonicMs() + NEGATIVE_TTL_MS);
    return "nobody";
  }

  #stateOf(facts: EnvironmentFacts): EnvironmentState {
    let state = this.#states.get(facts.id);
    if (state === undefined) {
      if (this.#states.size >= ENVIRONMENTS_MAX) this.#states.delete(this.#states.keys().next().value as EnvironmentId);
      state = new EnvironmentState(facts, this.#usage.of(facts.id), this.#clock.monotonicMs());
      this.#states.set(facts.id, state);
    }
    return state;
  }
}

function freshnessOf(found: Known): Freshness {
  if (found === "nobody") return NOT_KEPT;
  if (found.facts.sleep !== undefined) return SLEEPING;
  return found.facts.status === "ACTIVE" ? ACTIVE : BRIEF;
}

/** How many requests of an environment may wait for its runtime here. */
export function inFlightMaxOf({ limits }: EnvironmentFacts): number {
  return Math.min(IN_FLIGHT_MAX, Math.max(IN_FLIGHT_MIN, limits.concurrentInvocationsMax * IN_FLIGHT_PER_CONCURRENT));
}
