/**
 * Address ranges that are refused: only addresses that are routed globally are allowed, because all others are internal to some network.
 * Sources: the IANA special-purpose registries (RFC 6890) and the fixed addresses of cloud platforms.
 */
import { type AddressRange, type IpAddress, isWithin, parseRange } from "./address.js";

interface RefusedRange {
  readonly range: AddressRange;
  readonly text: string;
}

/** Throws when a text is not a range. */
function ranges(...texts: readonly string[]): readonly RefusedRange[] {
  return texts.map((text) => {
    const range = parseRange(text);
    if (range === undefined) throw new TypeError(`${text} is not a range of addresses`);
    return { range, text };
  });
}

const REFUSED = ranges(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10", // between carriers and customers; a metadata service of Alibaba Cloud is in it
  "127.0.0.0/8",
  "169.254.0.0/16", // link-local, with the metadata services of most clouds
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4", // with the broadcast address
  "168.63.129.16", // platform services of Azure, at a public address
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23", // with Teredo
  "2001:db8::/32",
  "2002::/16", // 6to4: embeds every IPv4 address, through relays that are no longer operated
  "3fff::/20",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
);

/** The range that IANA assigns for global unicast; all others are reserved, local, or embed IPv4. */
const GLOBAL_V6 = ranges("2000::/3")[0]!.range;

/** IPv6 addresses that are an IPv4 address: mapped (RFC 4291 §2.5.5.2), and of NAT64 (RFC 6052). */
const WRAPPED = ranges("::ffff:0:0/96", "64:ff9b::/96");

/** The range that refuses the address, as text; undefined when the address is global. */
export function refusedRange(address: IpAddress): string | undefined {
  const inner = unwrapped(address);
  for (const { range, text } of REFUSED) if (isWithin(inner, range)) return text;
  return inner.family === 6 && !isWithin(inner, GLOBAL_V6) ? "not in 2000::/3" : undefined;
}

/** The IPv4 address that an IPv6 address embeds, else the address itself. */
export function unwrapped(address: IpAddress): IpAddress {
  const isWrapped = WRAPPED.some(({ range }) => isWithin(address, range));
  return isWrapped ? { family: 4, bits: address.bits & 0xffff_ffffn } : address;
}
