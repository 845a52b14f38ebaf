/**
 * The two forms of an address behind a tunnel: `tunnel://<name>:<port>/<path>`, and the path at the proxy of a relay that official CLIs
 * register, `/<bare>/<name>/<scheme>/<host>/<port>/<path>`. One file parses and formats both, so that they compare as equal (cloud.md
 * §2.6, §2.9).
 */
import { type BareEnvironmentId, parseBareEnvironmentId } from "@perdure/cloud";
import { parseDestination } from "./destination.js";
import { isTunnelName } from "./name.js";

/** A destination behind a tunnel. */
export interface TunnelAddress {
  readonly name: string;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** Starts with a slash; no query. */
  readonly path: string;
}

/** Host of `tunnel://` addresses: the machine that the client runs on. */
const LOCAL_HOST = "localhost";
const URI = /^tunnel(\+https)?:\/\/([^/:?#@]+):([0-9]{1,5})(\/[^?#]*)?$/i;
const PROXY_PATH = /^\/([^/?]+)\/([^/?]+)(\/.*)$/s;

/** Whether a URI has a scheme of tunnels, well-formed or not. */
export function hasTunnelScheme(uri: string): boolean {
  return /^tunnel(\+https)?:/i.test(uri);
}

/** `tunnel://name:port[/path]` or `tunnel+https://…`; undefined for anything else, also with credentials, query or fragment. */
export function parseTunnelUri(uri: string): TunnelAddress | undefined {
  const match = URI.exec(uri);
  if (match === null) return undefined;
  const [, secure, name = "", port, path = "/"] = match;
  const scheme = secure === undefined ? "http" : "https";
  if (!isTunnelName(name)) return undefined;
  const destination = parseDestination(`/${scheme}/${LOCAL_HOST}/${port}${path}`);
  return destination === undefined
    ? undefined
    : { name, scheme, host: LOCAL_HOST, port: destination.port, path: destination.target };
}

/** A text that is equal for two addresses exactly when they are the same destination. */
export function placeOfTunnel({ name, scheme, host, port, path }: TunnelAddress): string {
  return `tunnel:${name}/${scheme}/${host}/${port}${path.replace(/\/+$/, "")}`;
}

/** The path at the proxy of a relay, without the request's own path. */
export function proxyPath(bare: BareEnvironmentId, { name, scheme, host, port, path }: TunnelAddress): string {
  return `/${bare}/${name}/${scheme}/${host}/${port}${path}`;
}

/** The tunnel that a path at the proxy names; `rest` is forwarded into the tunnel and is not validated here. */
export interface ProxyPath {
  readonly bare: BareEnvironmentId;
  readonly name: string;
  readonly rest: string;
}

/** Undefined when the path does not name an environment and a tunnel. */
export function parseProxyPath(path: string): ProxyPath | undefined {
  const match = PROXY_PATH.exec(path);
  if (match === null) return undefined;
  const [, first = "", name = "", rest = ""] = match;
  const bare = parseBareEnvironmentId(first);
  return bare === undefined || !isTunnelName(name) ? undefined : { bare, name, rest };
}
