/** Why: doors count attempts and requests by who sends them, and one subscriber has more IPv6 addresses than anybody can count. */

/** What an address of a socket is counted as: IPv4 as it is, also when mapped into IPv6; of IPv6 the network of 64 bits. */
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
