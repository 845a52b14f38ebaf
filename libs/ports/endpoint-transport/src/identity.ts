/**
 * Request identity, scheme v1 (service-protocol §1.4): every request carries a short-lived Ed25519 token, so that an endpoint that has
 * the public key can refuse requests of other senders.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { type Clock, PerdureError, type Secret } from "@perdure/base";
import { base58 } from "./base58.js";

/** Validity before and after the moment of signing, seconds: the tolerated difference between the two clocks. */
const IDENTITY_LEEWAY_SECONDS = 60;

export interface RequestIdentity {
  /** `publickeyv1_<base58>`: the form that users pass to their SDKs. */
  readonly publicKey: string;
  /**
   * Adds the signature headers. `path`: the service's own path, without the prefix it is mounted below; `subject` is the key of an object
   * or workflow.
   */
  sign(headers: Record<string, string>, path: string, subject: string | undefined): void;
}

/** Parses the key once. Throws OPS0001 unless `pem` is exactly one PKCS#8 block with an Ed25519 key. */
export function createRequestIdentity(pem: Secret, clock: Clock): RequestIdentity {
  const key = parseKey(pem.reveal());
  const publicKey = `publickeyv1_${base58(rawPublicKey(key))}`;
  const header = base64url(JSON.stringify({ typ: "JWT", alg: "EdDSA", kid: publicKey }));
  return {
    publicKey,
    sign(headers, path, subject) {
      const now = Math.floor(clock.nowMs() / 1000);
      const claims = {
        aud: path,
        exp: now + IDENTITY_LEEWAY_SECONDS,
        iat: now,
        nbf: now - IDENTITY_LEEWAY_SECONDS,
        sub: subject,
      };
      const signed = `${header}.${base64url(JSON.stringify(claims))}`; // JSON omits an undefined `sub`.
      headers["x-restate-signature-scheme"] = "v1";
      headers["x-restate-jwt-v1"] = `${signed}.${sign(null, Buffer.from(signed, "latin1"), key).toString("base64url")}`;
    },
  };
}

function parseKey(pem: string): KeyObject {
  const blocks = pem.match(/-----BEGIN [A-Z ]+-----/g) ?? [];
  if (blocks.length !== 1)
    throw new PerdureError("OPS0001", `the request identity file holds ${blocks.length} PEM blocks instead of one`);
  if (blocks[0] !== "-----BEGIN PRIVATE KEY-----")
    throw new PerdureError("OPS0001", "the request identity key is not in PKCS#8 format");
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: pem, format: "pem" });
  } catch {
    throw new PerdureError("OPS0001", "the request identity key cannot be read"); // The cause may quote the key.
  }
  if (key.asymmetricKeyType !== "ed25519")
    throw new PerdureError("OPS0001", `the request identity key is ${key.asymmetricKeyType}, not Ed25519`);
  return key;
}

/** The last 32 bytes of the SPKI form, whose head is fixed for Ed25519 (RFC 8410). */
function rawPublicKey(key: KeyObject): Uint8Array {
  return createPublicKey(key).export({ type: "spki", format: "der" }).subarray(-32);
}

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}
