/**
 * Finds the client's address of a request that came through proxies. Without it, limits per network would apply to all clients of a
 * proxy together. Proxies that the operator configures report the client's address in a header. Clients can send that header too, so it
 * is read from the right: each proxy appends the address of its caller, and the first address that is not a trusted proxy is the client.
 */

import { BlockList, isIP } from "node:net";
import { present } from "@perdure/base";

/** The header that proxies append to. Only one is read: a proxy that appends to one of them passes the other on as the client wrote it. */
type ProxyHeader = "forwarded" | "x-forwarded-for";

/** Bound per request: no real chain of proxies is longer. Elements further left are ignored. */
const HOPS_MAX = 32;

export class TrustedProxies {
  readonly #ranges = new BlockList();
  readonly #header: ProxyHeader;

  /** `ranges`: as `parseRange` accepts them; any other text is a bug of the caller. */
  constructor(ranges: readonly string[], header: ProxyHeader) {
    this.#header = header;
    for (const text of ranges) {
      const range = parseRange(text);
      if (range === undefined) throw new TypeError(`'${text}' is not a range of addresses`);
      this.#ranges.addSubnet(range.address, range.bits, range.family);
    }
  }

  /** `address`: as a socket reports it. */
  has(address: string | undefined): boolean {
    const plain = plainAddress(address ?? "");
    return plain !== undefined && this.#ranges.check(plain, isIP(plain) === 6 ? "ipv6" : "ipv4");
  }

  /**
   * The client's address. `peer`: address of the connection; the headers of an untrusted peer are ignored. `rawHeaders`: names and values
   * in turn. An element that is unreadable or obfuscated ends the search at the proxy that sent it.
   */
  clientOf(peer: string, rawHeaders: readonly string[]): string {
    if (!this.has(peer)) return peer;
    let client = peer;
    for (const hop of this.#hopsFromTheRight(rawHeaders)) {
      const address = hop === undefined ? undefined : plainAddress(withoutPort(hop));
      if (address === undefined) return client;
      client = address;
      if (!this.has(client)) return client;
    }
    return client;
  }

  #hopsFromTheRight(rawHeaders: readonly string[]): (string | undefined)[] {
    const lines: string[] = [];
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      if (present(rawHeaders[i]).toLowerCase() === this.#header) lines.push(present(rawHeaders[i + 1]));
    }
    if (lines.length === 0) return [];
    const hops = lines.join(",").split(",").slice(-HOPS_MAX).reverse();
    return this.#header === "forwarded" ? hops.map(forParameter) : hops.map((hop) => hop.trim());
  }
}

interface ProxyRange {
  readonly address: string;
  readonly bits: number;
  readonly family: "ipv4" | "ipv6";
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. */
export function parseRange(text: string): ProxyRange | undefined {
  const [, address = "", bits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const longest = version === 6 ? 128 : 32;
  const length = bits === undefined ? longest : Number(bits);
  return length > longest ? undefined : { address, bits: length, family: version === 6 ? "ipv6" : "ipv4" };
}

/** An IPv4 address as it is, also when it is mapped into IPv6; without a zone. */
function plainAddress(text: string): string | undefined {
  const address = text.replace(/^::ffff:(?=\d+\.\d)/i, "").replace(/%.*$/, "");
  return isIP(address) === 0 ? undefined : address;
}

/** `[2001:db8::1]:47`, `192.0.2.1:47`, or without a port. */
function withoutPort(node: string): string {
  return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(node)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(node)?.[1] ?? node;
}

/** `for` of an element of `Forwarded` (RFC 7239): `for="[2001:db8::1]:47";proto=https`. Addresses contain no commas or semicolons. */
function forParameter(element: string): string | undefined {
  for (const pair of element.split(";")) {
    const value = /^\s*for\s*=\s*("?)([^"\s]*)\1\s*$/i.exec(pair)?.[2];
    if (value !== undefined) return value;
  }
  return undefined;
}
