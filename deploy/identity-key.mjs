/**
 * Makes a key for signed requests: `node deploy/identity-key.mjs key.pem` writes the private key (PKCS#8 PEM, readable by its owner
 * only) and prints the public key that endpoints check signatures with. An existing file is never overwritten.
 */
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";

const DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

function base58(bytes) {
  let number = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = DIGITS[Number(number % 58n)] + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros < 0 ? bytes.length : zeros) + text;
}

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node deploy/identity-key.mjs <file.pem>");
  process.exit(2);
}
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { flag: "wx", mode: 0o600 });
// The last 32 bytes of the SPKI form are the key itself (RFC 8410).
console.log(`publickeyv1_${base58(publicKey.export({ type: "spki", format: "der" }).subarray(-32))}`);
