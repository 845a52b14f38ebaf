/**
 * Why: the random seed handed to an attempt is SipHash-1-3 with zero keys over the invocation id (service-protocol.md
 * §10.6). Once per attempt and 32 bytes long, so plain BigInt arithmetic is fast enough and easy to check against the paper
 * (Aumasson and Bernstein, 2012).
 */
const MASK = 0xffff_ffff_ffff_ffffn;

/** SipHash with one compression and three finalisation rounds, both key halves zero. An unsigned 64-bit value. */
export function siphash13(input: Uint8Array): bigint {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const state: SipState = [0x736f_6d65_7073_6575n, 0x646f_7261_6e64_6f6dn, 0x6c79_6765_6e65_7261n, 0x7465_6462_7974_6573n];
  const whole = input.length - (input.length % 8);
  for (let at = 0; at < whole; at += 8) absorb(state, view.getBigUint64(at, true));
  let last = BigInt(input.length & 0xff) << 56n;
  for (let at = whole; at < input.length; at++) last |= BigInt(input[at]!) << BigInt(8 * (at - whole));
  absorb(state, last);
  state[2] ^= 0xffn;
  for (let i = 0; i < 3; i++) round(state);
  return state[0] ^ state[1] ^ state[2] ^ state[3];
}

type SipState = [bigint, bigint, bigint, bigint];

function absorb(state: SipState, word: bigint): void {
  state[3] ^= word;
  round(state);
  state[0] ^= word;
}

function round(s: SipState): void {
  s[0] = (s[0] + s[1]) & MASK;
  s[1] = rotate(s[1], 13n) ^ s[0];
  s[0] = rotate(s[0], 32n);
  s[2] = (s[2] + s[3]) & MASK;
  s[3] = rotate(s[3], 16n) ^ s[2];
  s[0] = (s[0] + s[3]) & MASK;
  s[3] = rotate(s[3], 21n) ^ s[0];
  s[2] = (s[2] + s[1]) & MASK;
  s[1] = rotate(s[1], 17n) ^ s[2];
  s[2] = rotate(s[2], 32n);
}

function rotate(value: bigint, by: bigint): bigint {
  return ((value << by) | (value >> (64n - by))) & MASK;
}
