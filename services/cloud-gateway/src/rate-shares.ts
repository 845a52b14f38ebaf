/**
 * Why: several gateways keep one rate for an environment without asking anybody per request (cloud.md §6.5). Every second each tells
 * tenancy that it lives and, of the doors that wanted much, how much that was; what comes back is its own share of each rate
 * (libs/cloud, rate-shares.ts). Until the first answer a gateway takes itself for the only one; without tenancy it keeps what it heard.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import type { EnvironmentId, RateDemand, RateShares, Tenancy } from "@perdure/cloud";
import type { GatewayEndpoint } from "./environments.js";
import { DEMANDS_MAX, RATE_SYNC_MS } from "./limits.js";

/** Of one door of an environment at this gateway. */
export class RateMeter {
  readonly environmentId: EnvironmentId;
  readonly door: GatewayEndpoint;
  /** Requests that asked for a token since the last report. */
  requestCount = 0;
  /** Of the whole rate, when the last one asked. */
  perSecond = 0;
  /** Undefined: an equal part. */
  share: number | undefined = undefined;

  constructor(environmentId: EnvironmentId, door: GatewayEndpoint) {
    this.environmentId = environmentId;
    this.door = door;
  }
}

export interface RateSharingPorts {
  readonly tenancy: Pick<Tenancy, "shareRates">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RateSharing implements AsyncDisposable {
  readonly #ports: RateSharingPorts;
  readonly #gateway: string;
  readonly #region: string;
  /** Those that were asked since the last report. */
  #activeMeters = new Set<RateMeter>();
  /** Those whose share is not an equal one, by environment and door. */
  #uneven = new Map<string, RateMeter>();
  #lastAtMs: number;
  #timer: TimerHandle;
  #syncing: Promise<void> | undefined;
  #isAway = false;
  #isClosed = false;
  /** Living ones of the region, this one included. */
  gateways = 1;

  /** `gateway`: of this life of this process. */
  constructor(ports: RateSharingPorts, gateway: string, region: string) {
    this.#ports = ports;
    this.#gateway = gateway;
    this.#region = region;
    this.#lastAtMs = ports.clock.monotonicMs();
    this.#timer = this.#arm(0);
  }

  /** Counts one that asks, and answers the part of the rate that is this gateway's. */
  requestShare(meter: RateMeter, perSecond: number): number {
    if (meter.requestCount++ === 0) this.#activeMeters.add(meter);
    meter.perSecond = perSecond;
    return meter.share ?? 1 / this.gateways;
  }

  /** Tells and hears now; one at a time. Never rejects. */
  sync(): Promise<void> {
    this.#syncing ??= this.#sync().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer.cancel();
    await this.#syncing;
  }

  #arm(delayMs: number): TimerHandle {
    return this.#ports.clock.setTimer(delayMs, () => {
      void this.sync().then(() => {
        if (!this.#isClosed) this.#timer = this.#arm(RATE_SYNC_MS);
      });
    });
  }

  async #sync(): Promise<void> {
    const { tenancy, clock, logger } = this.#ports;
    const nowMs = clock.monotonicMs();
    const seconds = Math.max(RATE_SYNC_MS, nowMs - this.#lastAtMs) / 1_000;
    this.#lastAtMs = nowMs;
    const activeMeters = this.#activeMeters;
    this.#activeMeters = new Set();
    const demands = this.#demandsOf(activeMeters, seconds);
    try {
      const shares = await tenancy.shareRates({ gateway: this.#gateway, region: this.#region, demands });
      this.#take(shares, activeMeters);
      if (this.#isAway) logger.info({ gateways: this.gateways }, "rates are shared with other gateways again");
      this.#isAway = false;
    } catch (cause) {
      if (!this.#isAway) logger.warn({ cause }, "failed to report rate-limit share; using last known limits");
      this.#isAway = true;
    }
  }

  /** Only what may not have enough with an equal part, here or elsewhere: of most environments nothing needs to be said. */
  #demandsOf(activeMeters: ReadonlySet<RateMeter>, seconds: number): RateDemand[] {
    const demands: RateDemand[] = [];
    for (const meter of activeMeters) {
      const perSecond = meter.requestCount / seconds;
      meter.requestCount = 0;
      const isMuch = this.gateways > 1 && perSecond > meter.perSecond / this.gateways / 2;
      if ((isMuch || meter.share !== undefined) && demands.length < DEMANDS_MAX) {
        demands.push({ environmentId: meter.environmentId, door: meter.door, perSecond });
      }
    }
    return demands;
  }

  #take({ gateways, shares }: RateShares, activeMeters: ReadonlySet<RateMeter>): void {
    this.gateways = gateways;
    const meters = new Map(this.#uneven);
    for (const meter of activeMeters) meters.set(nameOf(meter), meter);
    for (const meter of this.#activeMeters) meters.set(nameOf(meter), meter);
    for (const meter of this.#uneven.values()) meter.share = undefined;
    this.#uneven = new Map();
    for (const share of shares) {
      const name = nameOf(share);
      const meter = meters.get(name);
      if (meter === undefined) continue; // Nobody asks for it here; who does next begins with an equal part and is told of at once.
      meter.share = share.share;
      this.#uneven.set(name, meter);
    }
  }
}

function nameOf({ environmentId, door }: Pick<RateMeter, "environmentId" | "door">): string {
  return `${environmentId} ${door}`;
}
