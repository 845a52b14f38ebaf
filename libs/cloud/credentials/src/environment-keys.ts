/** Data keys: each environment has one. Deleting the key destroys all data that it sealed. */
import { generateKeyPairSync } from "node:crypto";
import { type Clock, fromUtf8, PerdureError, type Random, Secret, utf8 } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import type { EnvironmentRecord, SigningKeyRecord } from "@perdure/postgres";
import type { KeyRing } from "./key-ring.js";
import { open, seal } from "./seal.js";

interface NewSigningKey {
  /** `publickeyv1_…` */
  readonly publicKey: string;
  /** PKCS#8 PEM, sealed. */
  readonly privateKey: Uint8Array;
}

export interface EnvironmentKeys {
  /** A new data key, sealed. */
  newDataKey(id: EnvironmentId): Uint8Array;
  newSigningKey(id: EnvironmentId, dataKey: Uint8Array): NewSigningKey;
  /** PKCS#8 PEM. Throws STO0003 when it was erased or damaged. */
  signingKey(environment: Pick<EnvironmentRecord, "id" | "dataKey">, key: SigningKeyRecord): Secret;
  sealText(environment: Pick<EnvironmentRecord, "id" | "dataKey">, text: Secret, what: string): Uint8Array;
  openText(environment: Pick<EnvironmentRecord, "id" | "dataKey">, sealed: Uint8Array, what: string): Secret;
}

const DATA_KEY_BYTES = 32;
/** Data keys have no versions: an environment has one. */
const ONLY = 0;

export function createEnvironmentKeys(ring: KeyRing, clock: Clock, random: Random): EnvironmentKeys {
  const dataKeyOf = (id: EnvironmentId, sealed: Uint8Array | undefined): Uint8Array => {
    if (sealed === undefined) throw new PerdureError("STO0003", `the data key of ${id} was destroyed`);
    return ring.open(sealed, `data key of ${id}`);
  };
  const sealAs = (id: EnvironmentId, sealed: Uint8Array | undefined, text: Secret, what: string): Uint8Array =>
    seal(utf8(text.reveal()), ONLY, dataKeyOf(id, sealed), `${what} of ${id}`, random);
  const openAs = (id: EnvironmentId, dataKey: Uint8Array | undefined, sealed: Uint8Array, what: string): Secret => {
    const key = dataKeyOf(id, dataKey);
    return new Secret(fromUtf8(open(sealed, (number) => (number === ONLY ? key : undefined), `${what} of ${id}`)));
  };

  return {
    newDataKey(id) {
      const key = new Uint8Array(DATA_KEY_BYTES);
      random.bytes(key);
      return ring.seal(key, `data key of ${id}`, random);
    },
    newSigningKey(id, dataKey) {
      const { privateKey } = generateKeyPairSync("ed25519");
      const pem = new Secret(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
      const { publicKey } = createRequestIdentity(pem, clock);
      return { publicKey, privateKey: sealAs(id, dataKey, pem, publicKey) };
    },
    signingKey({ id, dataKey }, { publicKey, privateKey }) {
      if (privateKey === undefined) throw new PerdureError("STO0003", `the signing key of ${id} was destroyed`);
      return openAs(id, dataKey, privateKey, publicKey);
    },
    sealText: ({ id, dataKey }, text, what) => sealAs(id, dataKey, text, what),
    openText: ({ id, dataKey }, sealed, what) => openAs(id, dataKey, sealed, what),
  };
}
