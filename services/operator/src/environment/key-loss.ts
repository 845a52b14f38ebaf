/**
 * Detects a lost signing key. Services authenticate their environment by its key, so a key that changes without a rotation locks the
 * environment out of all of them. The status records the public keys. When the Secret is missing or holds others, nothing runs with a new
 * key until the spec accepts that with the fingerprint of the recorded ones (`acceptDataLoss`), or the Secret is restored.
 */
import { createHash } from "node:crypto";
import type { Clock } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { publicKeysOf } from "./key-rotation.js";
import type { SecretData } from "./secret-store.js";

/** Identifies public keys; also the value of `acceptDataLoss` when they are lost. */
export function fingerprintOf(publicKeys: readonly string[]): string {
  return createHash("sha256").update(publicKeys.join(",")).digest("hex").slice(0, 16);
}

export interface LostKey {
  readonly mark: string;
  readonly message: string;
}

/** Undefined when the Secret (undefined: there is none) holds a key that was shown before, or no key was in use yet. */
export function lostKey({ status }: EnvironmentResource, stored: SecretData | undefined, clock: Clock): LostKey | undefined {
  const recorded = status?.signingKey?.publicKeys ?? [];
  // No service can be registered before the environment was ready for the first time.
  if (recorded.length === 0 || status?.version?.current === undefined || holdsOneOf(recorded, stored, clock)) return undefined;
  const mark = fingerprintOf(recorded);
  const what = stored === undefined ? "is missing" : "holds another key than the services are configured with";
  const message = `Secret signing-key ${what}; restore it, or accept a new key with acceptDataLoss: "${mark}"; services must then be deployed with the new public key`;
  return { mark, message };
}

/** An operator that ended between writing a rotation and recording it leaves at least one recorded key in the Secret. */
function holdsOneOf(recorded: readonly string[], stored: SecretData | undefined, clock: Clock): boolean {
  if (stored === undefined) return false;
  try {
    return publicKeysOf(stored, clock).some((key) => recorded.includes(key));
  } catch {
    return false; // No private key at all.
  }
}
