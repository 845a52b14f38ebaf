/**
 * Parses addresses into numbers, so that ranges are compared independently of how an address is written. Accepts only the forms that
 * resolvers and WHATWG URLs produce.
 */

export interface IpAddress {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

/** Addresses that begin with the same `length` bits. */
export interface AddressRange extends IpAddress {
  readonly length: number;
}

/** Dotted decimal, or IPv6 in any of its standard forms, without brackets and zone; undefined for anything else. */
export function parseAddress(text: string): IpAddress | undefined {
  const bits = text.includes(":") ? parseV6(text) : parseV4(text);
  return bits === undefined ? undefined : { family: text.includes(":") ? 6 : 4, bits };
}

/** An address, or an address with `/length`; the bits after the length must be zero. */
export function parseRange(text: string): AddressRange | undefined {
  const [head = "", tail, ...rest] = text.split("/");
  const address = parseAddress(head);
  if (address === undefined || rest.length > 0) return undefined;
  const width = widthOf(address.family);
  if (tail === undefined) return { ...address, length: width };
  if (!/^(0|[1-9]\d{0,2})$/.test(tail) || Number(tail) > width) return undefined;
  const length = Number(tail);
  const free = BigInt(width - length);
  return (address.bits >> free) << free === address.bits ? { ...address, length } : undefined;
}

export function isWithin({ family, bits }: IpAddress, range: AddressRange): boolean {
  if (family !== range.family) return false;
  const free = BigInt(widthOf(family) - range.length);
  return bits >> free === range.bits >> free;
}

function widthOf(family: 4 | 6): 32 | 128 {
  return family === 4 ? 32 : 128;
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let bits = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    bits = (bits << 8n) | BigInt(part);
  }
  return bits;
}

function parseV6(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...new Array<bigint>(missing).fill(0n), ...tail];
  return groups.reduce((bits, group) => (bits << 16n) | group, 0n);
}

/** Groups of 16 bits; the last 32 bits may be written as an IPv4 address at the end of the address. */
function groupsOf(text: string, isEnd: boolean): bigint[] | undefined {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (isEnd && i === parts.length - 1 && part.includes(".")) {
      const v4 = parseV4(part);
      if (v4 === undefined) return undefined;
      groups.push(v4 >> 16n, v4 & 0xffffn);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined;
      groups.push(BigInt(`0x${part}`));
    }
  }
  return groups;
}
