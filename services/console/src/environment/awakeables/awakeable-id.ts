/**
 * An awakeable is identified by invocation and number of a signal; clients use one id, `sign_1…`: base64url of the invocation's 24 bytes
 * and the number (service-protocol.md §10.5). Pure, and without Node's buffers.
 */

/** Digits of the two halves of an invocation's id, and the bytes they stand for. */
const PARTS = [
  { from: "inv_1".length, digits: 11, bytes: 8 },
  { from: "inv_1".length + 11, digits: 22, bytes: 16 },
] as const;
const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The first number of a signal that is an awakeable; lower numbers are reserved. */
export const FIRST_AWAKEABLE_SIGNAL = 17;

/** Throws when the text is not an invocation id. */
export function awakeableIdOf(invocationId: string, signalIndex: number): string {
  if (!/^inv_1[0-9A-Za-z]{33}$/.test(invocationId)) throw new TypeError(`${invocationId} is not an invocation id`);
  const raw = new Uint8Array(28);
  let at = 0;
  for (const { from, digits, bytes } of PARTS) {
    let value = 0n;
    for (const digit of invocationId.slice(from, from + digits)) value = value * 62n + BigInt(ALPHABET.indexOf(digit));
    // The lowest byte of the number comes first.
    for (let i = 0; i < bytes; i++) raw[at++] = Number((value >> BigInt(8 * i)) & 255n);
  }
  new DataView(raw.buffer).setUint32(24, signalIndex);
  return `sign_1${btoa(String.fromCharCode(...raw))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "")}`;
}

/** Has the form of an id; only the server can check whether it exists. */
export function isAwakeableId(text: string): boolean {
  return /^(?:sign|prom)_1[A-Za-z0-9_-]{38}={0,2}$/.test(text);
}
