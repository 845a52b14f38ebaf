/** Seals stored bytes: AES-256-GCM, bound to a context, so that the secret of one row does not open as another's. */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { PerdureError, type Random } from "@perdure/base";

const VERSION_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Number of the key (4 bytes), nonce, sealed bytes, tag. */
export function seal(bytes: Uint8Array, keyNumber: number, key: Uint8Array, context: string, random: Random): Uint8Array {
  const head = Buffer.alloc(VERSION_BYTES + NONCE_BYTES);
  head.writeUInt32BE(keyNumber);
  const nonce = head.subarray(VERSION_BYTES);
  random.bytes(nonce);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context, "utf8"));
  return Buffer.concat([head, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Number of the key that sealed it; undefined when it is too short. */
export function numberOf(sealed: Uint8Array): number | undefined {
  return sealed.length < VERSION_BYTES ? undefined : Buffer.from(sealed.buffer, sealed.byteOffset, VERSION_BYTES).readUInt32BE();
}

/** Throws STO0003 when the key is unknown, or the bytes were sealed with another key or context. */
export function open(sealed: Uint8Array, keyOf: (number: number) => Uint8Array | undefined, context: string): Uint8Array {
  const buffer = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (buffer.length < VERSION_BYTES + NONCE_BYTES + TAG_BYTES) throw damaged(context, "it is too short");
  const number = buffer.readUInt32BE();
  const key = keyOf(number);
  if (key === undefined) throw damaged(context, `key ${number} is not in the file of keys`);
  const nonce = buffer.subarray(VERSION_BYTES, VERSION_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context, "utf8"));
  decipher.setAuthTag(buffer.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(buffer.subarray(VERSION_BYTES + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    throw damaged(context, "it was sealed with another key, or changed since", cause);
  }
}

function damaged(context: string, why: string, cause?: unknown): PerdureError {
  return new PerdureError("STO0003", `what is sealed as '${context}' cannot be opened: ${why}`, { cause });
}
