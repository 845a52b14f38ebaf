/**
 * Why: a runtime must know which addresses lead through a tunnel, that one place behind a tunnel may be written in two ways, and that
 * tunnels of other environments are none of its business (cloud.md §2.6, 3; §2.9; T7).
 */
import type { Secret } from "@perdure/base";
import type { BareEnvironmentId } from "@perdure/cloud";
import { hasTunnelScheme, parseProxyPath, parseTunnelUri, placeOfTunnel, type TunnelAddress } from "./address.js";
import { parseDestination, withoutQuery } from "./destination.js";

/** How a runtime reaches its environment's tunnels. */
export interface TunnelAccess {
  readonly bare: BareEnvironmentId;
  /** Origin where the proxy of a relay is reached. */
  readonly proxyUrl: string;
  /** Origin of the proxy as addresses of deployments have it; mostly the same. */
  readonly publicUrl: string;
  /** Shows the relay whose runtime asks; sent to the proxy and nowhere else. */
  readonly token: Secret;
}

export type TunnelRoute =
  /** An address like any other. */
  | { readonly kind: "none" }
  | { readonly kind: "own"; readonly address: TunnelAddress }
  /** It is at the proxy, and names no place behind a tunnel of this environment. */
  | { readonly kind: "foreign" }
  /** It wants a tunnel, and does not say which. */
  | { readonly kind: "malformed" }
  /** It wants a tunnel, and this server has none. */
  | { readonly kind: "unavailable" };

const NONE: TunnelRoute = { kind: "none" };
const FOREIGN: TunnelRoute = { kind: "foreign" };
const MALFORMED: TunnelRoute = { kind: "malformed" };
const UNAVAILABLE: TunnelRoute = { kind: "unavailable" };

export class TunnelRoutes {
  readonly #bare: BareEnvironmentId | undefined;
  readonly #origins: ReadonlySet<string>;

  /** Without access there are no tunnels. */
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

  /** Equal for two addresses exactly when they are the same place behind a tunnel; undefined for places that are not. */
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
