/**
 * Decides for a runtime which addresses lead through a tunnel. One destination behind a tunnel can be written in two ways, and tunnels of
 * other environments are refused (cloud.md §2.6, 3; §2.9; T7).
 */
import type { Secret } from "@perdure/base";
import type { BareEnvironmentId } from "@perdure/cloud";
import { hasTunnelScheme, parseProxyPath, parseTunnelUri, placeOfTunnel, type TunnelAddress } from "./address.js";
import { parseDestination, withoutQuery } from "./destination.js";

/** Access of a runtime to its environment's tunnels. */
export interface TunnelAccess {
  readonly bare: BareEnvironmentId;
  /** Origin of the proxy of a relay. */
  readonly proxyUrl: string;
  /** Origin of the proxy in addresses of deployments; mostly the same. */
  readonly publicUrl: string;
  /** Identifies the calling runtime to the relay; sent to the proxy and to no other destination. */
  readonly token: Secret;
}

export type TunnelRoute =
  /** The address is not behind a tunnel. */
  | { readonly kind: "none" }
  | { readonly kind: "own"; readonly address: TunnelAddress }
  /** An address at the proxy that is not behind a tunnel of this environment. */
  | { readonly kind: "foreign" }
  /** An address with a tunnel scheme that cannot be parsed. */
  | { readonly kind: "malformed" }
  /** An address behind a tunnel, but this server has no tunnels. */
  | { readonly kind: "unavailable" };

const NONE: TunnelRoute = { kind: "none" };
const FOREIGN: TunnelRoute = { kind: "foreign" };
const MALFORMED: TunnelRoute = { kind: "malformed" };
const UNAVAILABLE: TunnelRoute = { kind: "unavailable" };

export class TunnelRoutes {
  readonly #bare: BareEnvironmentId | undefined;
  readonly #origins: ReadonlySet<string>;

  /** Without access no address has a tunnel. */
  constructor(access: Pick<TunnelAccess, "bare" | "proxyUrl" | "publicUrl"> | undefined) {
    this.#bare = access?.bare;
    this.#origins = new Set(access === undefined ? [] : [new URL(access.proxyUrl).origin, new URL(access.publicUrl).origin]);
  }

  /** `uri`: absolute. */
  routeOf(uri: string): TunnelRoute {
    if (hasTunnelScheme(uri)) {
      const address = parseTunnelUri(uri);
      if (address === undefined) return MALFORMED;
      return this.#bare === undefined ? UNAVAILABLE : { kind: "own", address };
    }
    if (this.#origins.size === 0 || !URL.canParse(uri)) return NONE;
    const url = new URL(uri);
    return this.#origins.has(url.origin) ? this.#atProxy(url.pathname) : NONE;
  }

  /** A text that is equal for two addresses exactly when they are the same destination behind a tunnel; undefined for other addresses. */
  placeOf(uri: string): string | undefined {
    const route = this.routeOf(uri);
    if (route.kind === "own") return placeOfTunnel(route.address);
    const address = route.kind === "unavailable" ? parseTunnelUri(uri) : undefined;
    return address === undefined ? undefined : placeOfTunnel(address);
  }

  #atProxy(path: string): TunnelRoute {
    const place = parseProxyPath(path);
    const destination = place === undefined ? undefined : parseDestination(place.rest);
    if (place === undefined || destination === undefined || place.bare !== this.#bare) return FOREIGN;
    const { scheme, host, port, target } = destination;
    return { kind: "own", address: { name: place.name, scheme, host, port, path: withoutQuery(target) } };
  }
}
