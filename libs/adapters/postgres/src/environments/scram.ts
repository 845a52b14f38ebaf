/**
 * Computes the SCRAM verifier of a password: a password in a statement would appear in the server's log and statistics, and the server
 * accepts the verifier as well.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Secret } from "@perdure/base";

/** PostgreSQL's own default; more would slow down each connection, and the password is random. */
const ITERATIONS = 4_096;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** The verifier that PostgreSQL stores of a password of ASCII (RFC 5802, RFC 7677). */
export function scramVerifier(password: Secret, salt: Buffer = randomBytes(SALT_BYTES)): string {
  const salted = pbkdf2Sync(password.reveal(), salt, ITERATIONS, HASH_BYTES, "sha256");
  const keyOf = (text: string): Buffer => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(keyOf("Client Key")).digest("base64");
  const serverKey = keyOf("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}
