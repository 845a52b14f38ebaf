/**
 * Checks destinations that users configure, so that they cannot reach internal services through the server. This file checks a destination
 * as it is written; its addresses are checked for each connection (cloud.md §6.6).
 */
import { type AddressRange, type IpAddress, isWithin, parseAddress } from "./address.js";
import { type Allowance, isBelow } from "./allowance.js";
import { insideReason, isSameOrBelow, withoutRoot } from "./host.js";
import { refusedRange, unwrapped } from "./ranges.js";

export interface EgressRules {
  /** Allows http beside https, and port 80. */
  readonly allowPlainHttp: boolean;
  /** The platform's own domains, lower case: destinations below them are refused. */
  readonly ownDomains: readonly string[];
  /** The platform's own public addresses. */
  readonly ownRanges: readonly AddressRange[];
  readonly allowances: readonly Allowance[];
}

/** `reason` is for logs only, because it reveals internal hosts. */
export type EgressDecision =
  | { readonly kind: "denied"; readonly reason: string }
  /** `isTrusted`: the operator allows the host with any address, so its addresses are not checked. */
  | { readonly kind: "allowed"; readonly host: string; readonly isTrusted: boolean };

const TUNNEL_NAME = /^[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

/** Ports of databases, container engines and caches that execute any bytes sent to them. */
const REFUSED_PORTS: ReadonlySet<number> = new Set([2375, 2376, 2377, 2378, 2379, 2380, 3306, 5432, 6379, 10_250, 11_211]);

/** An absolute URL: http, https or tunnel. */
export function checkUrl(rules: EgressRules, text: string): EgressDecision {
  if (!URL.canParse(text)) return denied("no absolute URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "" || /^[^/?#]*:\/\/[^/?#]*@/.test(text)) return denied("credentials in the URL");
  if (url.hash !== "" || text.includes("#")) return denied("a fragment in the URL");
  if (url.protocol === "tunnel:") return checkTunnel(url);
  if (url.protocol !== "http:" && url.protocol !== "https:") return denied(`scheme ${url.protocol}`);

  const places = rules.allowances.filter((one) => one.kind === "place" && one.origin === url.origin);
  if (places.length > 0) {
    const isOpen = places.some((one) => one.kind === "place" && isBelow(url.pathname, one.path));
    return isOpen ? { kind: "allowed", host: bareHost(url), isTrusted: true } : denied("a path outside of the exception");
  }
  if (url.protocol === "http:" && !rules.allowPlainHttp) return denied("scheme http: is not allowed");
  return checkHost(rules, url);
}

/** Checks a connection to an origin; the paths were checked before. */
export function checkOrigin(rules: EgressRules, origin: string): EgressDecision {
  const isPlace = rules.allowances.some((one) => one.kind === "place" && one.origin === origin);
  return isPlace ? { kind: "allowed", host: bareHost(new URL(origin)), isTrusted: true } : checkUrl(rules, origin);
}

/** Checks host and port of a protocol other than HTTP, such as a Kafka broker; the host without brackets. */
export function checkEndpoint(rules: EgressRules, host: string, port: number): EgressDecision {
  const text = `https://${host.includes(":") ? `[${host}]` : host}:${port}/`;
  if (!URL.canParse(text) || /[/?#@\\\s]/.test(host)) return denied("no host and port");
  return checkHost(rules, new URL(text));
}

/** The reason why a resolved address is refused; undefined when it is allowed. */
export function refusalOfAddress(rules: EgressRules, text: string): string | undefined {
  const address = parseAddress(text);
  return address === undefined ? "no IP address" : refusalOf(rules, address);
}

/** Exceptions of the operator match an address as it is written and after unwrapping IPv4 in IPv6. */
function refusalOf(rules: EgressRules, address: IpAddress): string | undefined {
  const inner = unwrapped(address);
  if (rules.allowances.some((one) => one.kind === "range" && isWithin(inner, one.range))) return undefined;
  const own = rules.ownRanges.some((range) => isWithin(address, range) || isWithin(inner, range));
  return own ? "an address of the platform" : refusedRange(address);
}

function checkTunnel(url: URL): EgressDecision {
  const isNamed = TUNNEL_NAME.test(url.hostname) && url.port !== "" && url.search === "";
  return isNamed ? { kind: "allowed", host: url.hostname, isTrusted: false } : denied("no tunnel's name and port");
}

function checkHost(rules: EgressRules, url: URL): EgressDecision {
  const port = url.port === "" ? (url.protocol === "http:" ? 80 : 443) : Number(url.port);
  if (!isPortOpen(url.protocol, port)) return denied(`port ${port}`);
  const host = bareHost(url);
  if (rules.allowances.some((one) => one.kind === "host" && isNamedBy(host, one)))
    return { kind: "allowed", host, isTrusted: true };
  const address = parseAddress(host);
  const reason = address === undefined ? nameRefusal(rules, host) : refusalOf(rules, address);
  return reason === undefined ? { kind: "allowed", host, isTrusted: false } : denied(reason);
}

function isPortOpen(protocol: string, port: number): boolean {
  if (port === 443 || port === 8443) return true;
  if (port === 80) return protocol === "http:";
  return port >= 1024 && port <= 65_535 && !REFUSED_PORTS.has(port);
}

function nameRefusal(rules: EgressRules, host: string): string | undefined {
  const own = rules.ownDomains.some((domain) => isSameOrBelow(host, domain));
  return own ? "a name of the platform" : insideReason(host);
}

function isNamedBy(host: string, { host: name, below }: Extract<Allowance, { kind: "host" }>): boolean {
  return below ? host !== name && isSameOrBelow(host, name) : host === name;
}

/** The host as WHATWG URLs have it (canonical addresses, names in lower-case ASCII), without brackets and trailing dot. */
function bareHost(url: URL): string {
  return url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : withoutRoot(url.hostname);
}

function denied(reason: string): EgressDecision {
  return { kind: "denied", reason };
}
