/**
 * Parses host names, which name the environment, once and strictly: a name that two programs could read differently is rejected
 * (cloud.md §6.1).
 */
import { BoundedCache } from "@perdure/base";
import { type BareEnvironmentId, parseBareEnvironmentId } from "@perdure/cloud";

/** Destination that a host name refers to. */
type NamedHost =
  | { readonly kind: "environment"; readonly bare: BareEnvironmentId; readonly region: string }
  /** Not a name under the gateway's domain. */
  | { readonly kind: "unknown" };

const UNKNOWN: NamedHost = { kind: "unknown" };
const AUTHORITY = /^([A-Za-z0-9.-]{1,253})\.?(?::(\d{1,5}))?$/;
const REGION = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;

/** The host of an authority in lower case, without port and final dot; undefined when it is malformed or an IP literal in brackets. */
export function hostOf(authority: string): string | undefined {
  const match = AUTHORITY.exec(authority);
  if (match === null || Number(match[2] ?? 0) > 65_535) return undefined;
  const host = (match[1] ?? "").toLowerCase();
  const bare = host.endsWith(".") ? host.slice(0, -1) : host;
  return bare === "" || bare.includes("..") || bare.startsWith(".") ? undefined : bare;
}

/** Names of the form `<bare>.env.<region>.<domain>`; parsed names are cached, since a few names occur in most requests. */
export class HostNames {
  readonly #suffix: string;
  readonly #cache: BoundedCache<string, NamedHost>;

  constructor(domain: string, cacheMax = 10_000) {
    this.#suffix = `.${domain.toLowerCase()}`;
    this.#cache = new BoundedCache({ entriesMax: cacheMax });
  }

  /** `host`: as `hostOf` returns it. */
  parse(host: string): NamedHost {
    const cached = this.#cache.peek(host);
    if (cached !== undefined) return cached;
    const named = this.#parse(host);
    if (named.kind === "unknown") return named; // Clients can invent any number of these, so they are not cached.
    this.#cache.set(host, named);
    return named;
  }

  #parse(host: string): NamedHost {
    if (!host.endsWith(this.#suffix)) return UNKNOWN;
    const [label = "", env, ...region] = host.slice(0, -this.#suffix.length).split(".");
    const bare = parseBareEnvironmentId(label);
    const regionName = region.join(".");
    if (bare === undefined || env !== "env" || !REGION.test(regionName)) return UNKNOWN;
    return { kind: "environment", bare, region: regionName };
  }
}
