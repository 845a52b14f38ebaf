/**
 * Leader election with a Lease: one of several operators works. Expiry is measured with the local clock only: a leader counts as gone when
 * its Lease has not changed for a while, whatever times are written in it. There is usually one leader but this is not guaranteed, so the
 * work of a leader must be safe when two processes do it.
 */
import { type Clock, type Logger, pause } from "@perdure/base";
import { isAlreadyThere, isConflict } from "./api-error.js";
import type { KubernetesClient } from "./client.js";
import { LEASE_MS, LEASE_RENEW_WITHIN_MS, LEASE_RETRY_MS } from "./limits.js";
import { type KubeObject, resources } from "./resource.js";

interface LeaseLeadershipOptions {
  readonly namespace: string;
  readonly name: string;
  /** Ours; no two processes share one. */
  readonly identity: string;
  readonly leaseMs?: number;
  readonly renewWithinMs?: number;
  readonly retryMs?: number;
}

interface LeaseLeadershipPorts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface LeaseSpec {
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string | null;
  readonly renewTime?: string | null;
  readonly leaseTransitions?: number;
}

type LeaseObject = KubeObject & { readonly spec?: LeaseSpec };

export class LeaseLeadership {
  readonly #options: Required<LeaseLeadershipOptions>;
  readonly #ports: LeaseLeadershipPorts;
  /** The Lease as we saw it last, and when by our clock it became so. */
  #observedLease: { readonly version: string; readonly atMs: number } | undefined;
  #isLeading = false;
  /** Local monotonic time of the request that renewed the Lease last; the Lease is held for at least `leaseMs` after it. */
  #heldFromMs = 0;
  #term: AbortController | undefined;

  constructor(options: LeaseLeadershipOptions, ports: LeaseLeadershipPorts) {
    this.#options = { leaseMs: LEASE_MS, renewWithinMs: LEASE_RENEW_WITHIN_MS, retryMs: LEASE_RETRY_MS, ...options };
    this.#ports = ports;
    ports.client.beforeWrites(() => this.#endWhenExpired());
  }

  /**
   * A process that was frozen continues before any timer can report the delay, so each write checks the clock and ends the term when
   * another process may lead.
   */
  #endWhenExpired(): void {
    if (!this.#isLeading || this.#ports.clock.monotonicMs() - this.#heldFromMs <= this.#options.leaseMs) return;
    this.#term?.abort();
    throw new Error("our lease has ended: nothing is written before we lead again");
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Calls `lead` whenever we lead, with a signal that fires when we lead no longer; `lead` must end soon then, and is waited for. Until
   * `signal` fires; then the Lease is given back. Rejects only with what `lead` rejects with.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await this.#tryAcquire(signal)) await this.#lead(lead, signal);
      await pause(this.#ports.clock, this.#options.retryMs, signal);
    }
  }

  async #lead(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#ports;
    const term = new AbortController();
    this.#term = term;
    this.#isLeading = true;
    logger.info({ identity: this.#options.identity }, "leading");
    const leading = lead(AbortSignal.any([term.signal, signal])).finally(() => term.abort());
    let renewedAt = clock.monotonicMs();
    while (!signal.aborted && !term.signal.aborted) {
      const waitedFrom = clock.monotonicMs();
      await pause(clock, this.#options.retryMs, AbortSignal.any([term.signal, signal]));
      // The process was frozen or the machine was suspended: another process may lead by now, so the Lease is read again first.
      if (clock.monotonicMs() - waitedFrom > this.#options.renewWithinMs) break;
      if (signal.aborted || term.signal.aborted) break;
      const outcome = await this.#renew(signal);
      if (outcome === "renewed") renewedAt = clock.monotonicMs();
      else if (outcome === "lost" || clock.monotonicMs() - renewedAt > this.#options.renewWithinMs) break;
    }
    this.#isLeading = false;
    if (!signal.aborted) logger.warn({ identity: this.#options.identity }, "lost leadership");
    term.abort();
    await leading;
    await this.#release();
  }

  async #tryAcquire(signal: AbortSignal): Promise<boolean> {
    const { client, clock, logger } = this.#ports;
    const { name, namespace, identity, leaseMs } = this.#options;
    try {
      const lease = await client.find<LeaseObject>(resources.leases, name, namespace, { signal });
      this.#heldFromMs = clock.monotonicMs();
      if (lease === undefined) {
        await client.create(this.#lease(undefined, 0), { signal });
        return true;
      }
      const version = lease.metadata.resourceVersion ?? "";
      if (this.#observedLease?.version !== version) this.#observedLease = { version, atMs: clock.monotonicMs() };
      const holder = lease.spec?.holderIdentity ?? "";
      const isFree = holder === "" || holder === identity || clock.monotonicMs() - this.#observedLease.atMs > leaseMs;
      if (!isFree) return false;
      await client.replace(this.#lease(version, (lease.spec?.leaseTransitions ?? 0) + (holder === identity ? 0 : 1)), { signal });
      return true;
    } catch (cause) {
      if (!signal.aborted && !isConflict(cause) && !isAlreadyThere(cause))
        logger.warn({ cause }, "the lease cannot be requested");
      return false;
    }
  }

  async #renew(signal: AbortSignal): Promise<"renewed" | "failed" | "lost"> {
    const { client, clock, logger } = this.#ports;
    const { name, namespace, identity, renewWithinMs } = this.#options;
    const timeout = new AbortController();
    const timer = clock.setTimer(renewWithinMs / 2, () => timeout.abort());
    const call = { signal: AbortSignal.any([signal, timeout.signal]) };
    try {
      const lease = await client.find<LeaseObject>(resources.leases, name, namespace, call);
      if (lease?.spec?.holderIdentity !== identity) return "lost";
      const requestedAtMs = clock.monotonicMs();
      await client.replace(this.#lease(lease.metadata.resourceVersion, lease.spec.leaseTransitions ?? 0), call);
      this.#heldFromMs = requestedAtMs;
      return "renewed";
    } catch (cause) {
      if (!signal.aborted) logger.warn({ cause }, "the lease cannot be renewed");
      return "failed";
    } finally {
      timer.cancel();
    }
  }

  /** Releases the lease, so that the next leader need not wait; when this fails it waits for the expiry. */
  async #release(): Promise<void> {
    const { client, logger } = this.#ports;
    const { name, namespace, identity } = this.#options;
    try {
      const lease = await client.find<LeaseObject>(resources.leases, name, namespace);
      if (lease?.spec?.holderIdentity !== identity) return;
      const free = this.#lease(lease.metadata.resourceVersion, lease.spec.leaseTransitions ?? 0);
      await client.replace({ ...free, spec: { ...(free["spec"] as LeaseSpec), holderIdentity: "", leaseDurationSeconds: 1 } });
    } catch (cause) {
      logger.warn({ cause }, "the lease cannot be given back; it ends by itself");
    }
  }

  #lease(resourceVersion: string | undefined, leaseTransitions: number): KubeObject {
    const { name, namespace, identity, leaseMs } = this.#options;
    const now = new Date(this.#ports.clock.nowMs()).toISOString().replace("Z", "000Z"); // Microseconds, as the API requires.
    const metadata = { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.round(leaseMs / 1000)),
      acquireTime: now,
      renewTime: now,
      leaseTransitions,
    };
    return { apiVersion: resources.leases.apiVersion, kind: resources.leases.kind, metadata, spec };
  }
}
