/** Creates the signing key of an environment, by which services authenticate its requests. The key never leaves its namespace. */
import { generateKeyPairSync } from "node:crypto";
import { type Clock, Secret } from "@perdure/base";
import { createRequestIdentity } from "@perdure/endpoint-transport";

/** PKCS#8 PEM. */
export function newSigningKey(): Secret {
  return new Secret(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());
}

/** `publickeyv1_…`, the form that services are configured with. Throws OPS0001 when the text is not a private key. */
export function publicKeyOf(privateKeyPem: Secret, clock: Clock): string {
  return createRequestIdentity(privateKeyPem, clock).publicKey;
}
