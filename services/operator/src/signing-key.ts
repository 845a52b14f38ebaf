/** Why: services know that it is their environment that calls them by its key, which is made here once and never leaves its namespace. */
import { generateKeyPairSync } from "node:crypto";
import { type Clock, Secret } from "@perdure/base";
import { createRequestIdentity } from "@perdure/invoker";

/** PKCS#8 PEM. */
export function newSigningKey(): Secret {
  return new Secret(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());
}

/** `publickeyv1_…`, as services are told it. Throws OPS0001 for what is no private key. */
export function publicKeyOf(privateKeyPem: Secret, clock: Clock): string {
  return createRequestIdentity(privateKeyPem, clock).publicKey;
}
