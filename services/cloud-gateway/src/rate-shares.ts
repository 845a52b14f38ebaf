/**
 * Several gateways keep one rate for an environment without a request to tenancy per request (cloud.md §6.5). Every second each gateway
 * reports to tenancy that it runs, and the demand at its busy endpoints; tenancy returns the gateway's share of each rate
 * (libs/ports/cloud, rate-shares.ts). Until the first answer a gateway assumes to be the only one; without tenancy it keeps its last shares.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import type { EnvironmentId, RateDemand, RateShares, Tenancy } from "@perdure/cloud";
import type { GatewayEndpoint } from "./environments.js";
import { DEMANDS_MAX, RATE_SYNC_MS } from "./limits.js";

/** The demand for one endpoint of an environment at this gateway. */
export class RateMeter {
  readonly environmentId: EnvironmentId;
  readonly door: GatewayEndpoint;
  /** Requests for a token since the last report. */
  requestCount = 0;
  /** The whole rate at the last request for a token. */
  perSecond = 0;
  /** Undefined: an equal part. */
  share: number | undefined = undefined;

  constructor(environmentId: EnvironmentId, door: GatewayEndpoint) {
    this.environmentId = environmentId;
    this.door = door;
  }
}

interface RateSharingPorts {
  readonly tenancy: Pick<Tenancy, "shareRates">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RateSharing implements AsyncDisposable {
  readonly #ports: RateSharingPorts;
  readonly #gateway: string;
  readonly #region: string;
  /** Meters with requests since the last report. */
  #activeMeters = new Set<RateMeter>();
  /** Meters whose share is not an equal part, by environment and endpoint. */
  #uneven = new Map<string, RateMeter>();
  #lastAtMs: number;
  #timer: TimerHandle;
  #syncing: Promise<void> | undefined;
  #isAway = false;
  #isClosed = false;
  /** Running gateways of the region, this one included. */
  gateways = 1;

  /** `gateway`: name of this run of the process. */
  constructor(ports: RateSharingPorts, gateway: string, region: string) {
    this.#ports = ports;
    this.#gateway = gateway;
    this.#region = region;
    this.#lastAtMs = ports.clock.monotonicMs();
    this.#timer = this.#arm(0);
  }

  /** Counts one request, and returns this gateway's part of the rate. */
  requestShare(meter: RateMeter, perSecond: number): number {
    if (meter.requestCount++ === 0) this.#activeMeters.add(meter);
    meter.perSecond = perSecond;
    return meter.share ?? 1 / this.gateways;
  }

  /** Reports and applies the answer now; one call at a time. Never rejects. */
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

  /** Returns the demands of endpoints for which an equal part may be too small, here or at another gateway: most need no report. */
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
      if (meter === undefined) continue; // Without demand here; the next request begins with an equal part and is reported at once.
      meter.share = share.share;
      this.#uneven.set(name, meter);
    }
  }
}

function nameOf({ environmentId, door }: Pick<RateMeter, "environmentId" | "door">): string {
  return `${environmentId} ${door}`;
}
