/** Discovers endpoints at addresses that clients request: checks whether the address is allowed, and bounds how many run at once. */
import type { Clock, Random } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import type { RequestedAddress } from "@perdure/metadata";
import type { TunnelRoutes } from "@perdure/tunnel";
import { discoveryTarget } from "./address.js";
import { type Discovered, type DiscoveryPorts, discover } from "./discover.js";
import { checkDestination, checkTunnel, DiscoveryLimit } from "./guarded.js";
import type { DiscoveryFetcher, DiscoveryTarget } from "./ports.js";

interface DiscovererPorts {
  readonly fetcher: DiscoveryFetcher;
  /** Decides which destinations may be registered; without it all may. */
  readonly guard?: EgressGuard | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

interface DiscovererOptions {
  /** Sent with every request to an endpoint, lower-case names. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly tunnels: TunnelRoutes;
}

export class Discoverer {
  readonly #ports: DiscoveryPorts;
  readonly #guard: EgressGuard | undefined;
  readonly #tunnels: TunnelRoutes;
  /** None without a guard: the operator of an unguarded server is its only client. */
  readonly #limit: DiscoveryLimit | undefined;

  constructor({ fetcher, guard, clock, random }: DiscovererPorts, { requestHeaders, tunnels }: DiscovererOptions) {
    this.#ports = { fetcher, clock, random, requestHeaders, isGuarded: guard !== undefined };
    this.#guard = guard;
    this.#tunnels = tunnels;
    this.#limit = guard === undefined ? undefined : new DiscoveryLimit(clock);
  }

  /** Throws `RegistryRefusal` when the address is invalid or not allowed. */
  targetOf(address: RequestedAddress): DiscoveryTarget {
    const target = discoveryTarget(address);
    const isTunnel = target.kind === "http" && checkTunnel(this.#tunnels, target.uri);
    if (this.#guard !== undefined && !isTunnel) checkDestination(this.#guard, address);
    return target;
  }

  discover(target: DiscoveryTarget, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Discovered> {
    const run = () => discover(this.#ports, target, headers, signal);
    return this.#limit === undefined ? run() : this.#limit.run(run);
  }
}
