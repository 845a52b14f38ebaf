/** The network by which gateways and tenancy count attempts and requests: one subscriber has more IPv6 addresses than can be counted. */

/** The network of a socket's address: an IPv4 address as it is, also when it is mapped into IPv6; the /64 of an IPv6 address. */
export function networkOf(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, "").replace(/%.*$/, "");
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
