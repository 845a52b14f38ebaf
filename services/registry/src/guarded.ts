/**
 * Rules for registries where any tenant registers deployments: discovery would let a tenant make the server connect to an address and
 * read the response. These rules come on top of the egress guard of the transports (cloud.md §6.6).
 */
import { type Clock, unreachable } from "@perdure/base";
import { DESTINATION_NOT_ALLOWED, type EgressGuard } from "@perdure/egress";
import { RegistryRefusal, type RequestedAddress } from "@perdure/metadata";
import type { TunnelRoutes } from "@perdure/tunnel";
import { DISCOVERIES_AT_ONCE_MAX, DISCOVERIES_PER_WINDOW_MAX, DISCOVERY_WINDOW_MS } from "./limits.js";

/** The region becomes part of a host name, so only names that AWS could use are valid. */
const REGION = /^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/;
const ROLE = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/;

export function destinationRefused(): RegistryRefusal {
  return new RegistryRefusal(400, "META0003", DESTINATION_NOT_ALLOWED);
}

/**
 * Whether an address leads through a tunnel of this environment, so that the relay checks it instead of the egress guard. Throws
 * `RegistryRefusal` 400 META0003 for a tunnel of another environment, or for any where tunnels are disabled.
 */
export function checkTunnel(tunnels: TunnelRoutes, uri: string): boolean {
  const { kind } = tunnels.routeOf(uri);
  switch (kind) {
    case "none":
    case "malformed":
      return false;
    case "own":
      return true;
    case "foreign":
      throw new RegistryRefusal(400, "META0003", "tunnel belongs to another environment");
    case "unavailable":
      throw new RegistryRefusal(
        400,
        "META0003",
        "this server has no tunnels: they belong to environments of the cloud. Register the address at which it reaches the service itself.",
      );
    default:
      return unreachable(kind);
  }
}

/** Checks the address as text; throws `RegistryRefusal` 400 META0003. */
export function checkDestination(guard: EgressGuard, address: RequestedAddress): void {
  if (address.kind === "http") {
    if (!guard.allows(address.uri)) throw destinationRefused();
    return;
  }
  const { arn, assumeRoleArn } = address;
  if (assumeRoleArn === undefined || !ROLE.test(assumeRoleArn)) {
    throw new RegistryRefusal(
      400,
      "META0003",
      "a Lambda function needs 'assume_role_arn', a role of your account that may call it",
    );
  }
  if (!REGION.test(arn.split(":")[3] ?? "")) throw destinationRefused();
}

/**
 * Bounds the discoveries of one environment, as a guarded server has only one. Not a `TokenBucket`: the bound holds for every minute
 * (cloud.md §6.6), and a bucket with this burst and rate would allow almost twice as many in its first minute.
 */
export class DiscoveryLimit {
  readonly #clock: Clock;
  /** Start times of the latest discoveries, oldest first; at most as many as a window may have. */
  readonly #begunAtMs: number[] = [];
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws `RegistryRefusal` 429 when the rate is exceeded. */
  async run<T>(discovery: () => Promise<T>): Promise<T> {
    const nowMs = this.#clock.monotonicMs();
    while (nowMs - (this.#begunAtMs[0] ?? nowMs) >= DISCOVERY_WINDOW_MS) this.#begunAtMs.shift();
    if (this.#running >= DISCOVERIES_AT_ONCE_MAX) throw tooMany(`${DISCOVERIES_AT_ONCE_MAX} at once`);
    if (this.#begunAtMs.length >= DISCOVERIES_PER_WINDOW_MAX) throw tooMany(`${DISCOVERIES_PER_WINDOW_MAX} in a minute`);
    this.#begunAtMs.push(nowMs);
    this.#running++;
    try {
      return await discovery();
    } finally {
      this.#running--;
    }
  }
}

function tooMany(bound: string): RegistryRefusal {
  return new RegistryRefusal(429, undefined, `discovery requests are limited to ${bound}; try again in a minute`);
}
