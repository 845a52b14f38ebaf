/** Base58 with the Bitcoin alphabet. Only public keys, which users copy, need it. */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

export function base58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  let number = 0n;
  for (const byte of bytes) number = number * 256n + BigInt(byte);
  let digits = "";
  for (; number > 0n; number /= 58n) digits = ALPHABET[Number(number % 58n)] + digits;
  return "1".repeat(zeros) + digits;
}
