/**
 * Version of a key's state: a hash of all entries. An edit carries the version it was made from, so that no change is overwritten
 * unnoticed.
 */
import { sha256 } from "@noble/hashes/sha2.js";

const encoder = new TextEncoder();

/** Keys to their bytes. */
export type StateMap = ReadonlyMap<string, Uint8Array>;

/**
 * SHA-256 over the entries sorted by key bytes; each feeds its index as 8 bytes big-endian, 0x01, the key, 0x02, the value, 0x03.
 * Base64url without padding (admin-api.md §4.1). Not with `crypto.subtle`, which pages that come over plain http have only on localhost.
 */
export function stateVersion(state: StateMap): string {
  const entries = [...state].map(([key, value]) => ({ key: encoder.encode(key), value }));
  entries.sort((a, b) => compareBytes(a.key, b.key));
  const size = entries.reduce((sum, { key, value }) => sum + 8 + key.length + value.length + 3, 0);
  const fed = new Uint8Array(size);
  const view = new DataView(fed.buffer);
  let at = 0;
  entries.forEach(({ key, value }, index) => {
    view.setBigUint64(at, BigInt(index));
    fed[at + 8] = 1;
    fed.set(key, at + 9);
    at += 9 + key.length;
    fed[at] = 2;
    fed.set(value, at + 1);
    at += 1 + value.length;
    fed[at++] = 3;
  });
  return btoa(String.fromCharCode(...sha256(fed)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace("=", "");
}

/** Bytes of hexadecimal digits, as SQL shows them. Throws on anything else. */
export function bytesOfHex(hex: string): Uint8Array {
  if (hex.length % 2 !== 0 || /[^0-9a-f]/i.test(hex)) throw new TypeError("not hexadecimal digits");
  return Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

/** Order of bytes, the shorter first where one is a prefix of the other. */
function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
