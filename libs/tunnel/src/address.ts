/**
 * Why: what is behind a tunnel has two addresses: `tunnel://<name>:<port>/<path>`, and the path at the proxy of a relay that official
 * command lines register, `/<bare>/<name>/<scheme>/<host>/<port>/<path>`. Both are read and written here, so that they are known to be
 * the same place (cloud.md §2.6, §2.9).
 */
import { type BareEnvironmentId, parseBareEnvironmentId } from "@perdure/cloud";
import { parseDestination } from "./destination.js";
import { isTunnelName } from "./name.js";

/** A place behind a tunnel. */
export interface TunnelAddress {
  readonly name: string;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  /** Starts with a slash; no query. */
  readonly path: string;
}

/** What `tunnel://` leads to: the machine that the client runs on. */
const LOCAL_HOST = "localhost";
const URI = /^tunnel(\+https)?:\/\/([^/:?#@]+):([0-9]{1,5})(\/[^?#]*)?$/i;
const PROXY_PATH = /^\/([^/?]+)\/([^/?]+)(\/.*)$/s;

/** Whether a URI wants a tunnel by its scheme, well-formed or not. */
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

/** Equal for two addresses exactly when they are the same place. */
export function placeOfTunnel({ name, scheme, host, port, path }: TunnelAddress): string {
  return `tunnel:${name}/${scheme}/${host}/${port}${path.replace(/\/+$/, "")}`;
}

/** What the proxy of a relay is asked for, apart from the request's own path. */
export function proxyPath(bare: BareEnvironmentId, { name, scheme, host, port, path }: TunnelAddress): string {
  return `/${bare}/${name}/${scheme}/${host}/${port}${path}`;
}

/** Whose tunnel a path at the proxy means; `rest` is what goes into the tunnel, and is not judged here. */
export interface ProxyPath {
  readonly bare: BareEnvironmentId;
  readonly name: string;
  readonly rest: string;
}

/** Undefined when it names no environment and tunnel. */
export function parseProxyPath(path: string): ProxyPath | undefined {
  const match = PROXY_PATH.exec(path);
  if (match === null) return undefined;
  const [, first = "", name = "", rest = ""] = match;
  const bare = parseBareEnvironmentId(first);
  return bare === undefined || !isTunnelName(name) ? undefined : { bare, name, rest };
}
