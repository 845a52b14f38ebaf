/**
 * Rotates the signing key. Services accept requests that are signed with a configured key, so a new key is published long before it is
 * used, and the old one stays published long after: services that are deployed in that time are configured with both (kubernetes.md §2).
 * The Secret of the keys also stores the progress; private keys are stored nowhere else.
 *
 * current ── request ──▶ current + next ── a day ──▶ current (was next) + previous ── end of the next rotation ──▶ …
 */
import { type Clock, present, Secret } from "@perdure/base";
import { publicKeyOf } from "../signing-key.js";
import type { SecretData } from "./secret-store.js";

/** Each new value requests a new key. */
export const ROTATE_ANNOTATION = "perdure.dev/rotate-signing-key";

const CURRENT = "current.pem";
const NEXT = "next.pem";
const PREVIOUS = "previous.pem";
/** The last request that was started, and when the next key becomes the current one. */
const ROTATION_REQUEST = "rotation-wish";
const FLIP_AT = "rotation-flips-at";

interface Rotation {
  /** New content of the Secret; the same object when nothing changes. */
  readonly data: SecretData;
  /** Milliseconds until the next key becomes the current one. */
  readonly againMs: number | undefined;
}

/** `wish`: the annotation's value. `newKey` makes a private key, as PKCS#8 PEM. */
export function rotated(
  data: SecretData,
  request: string | undefined,
  { nowMs, overlapMs, newKey }: { readonly nowMs: number; readonly overlapMs: number; readonly newKey: () => Secret },
): Rotation {
  const next = data[NEXT];
  const flipAtMs = Date.parse(data[FLIP_AT] ?? "");
  if (next !== undefined) {
    if (nowMs < flipAtMs) return { data, againMs: flipAtMs - nowMs };
    const { [NEXT]: _used, [FLIP_AT]: _past, ...kept } = data;
    const flipped = { ...kept, [PREVIOUS]: data[CURRENT] ?? "", [CURRENT]: next };
    // A request that arrived meanwhile starts another rotation.
    return rotated(flipped, request, { nowMs, overlapMs, newKey });
  }
  if (request === undefined || request === data[ROTATION_REQUEST]) return { data, againMs: undefined };
  const flipsAt = new Date(nowMs + overlapMs).toISOString();
  return { data: { ...data, [NEXT]: newKey().reveal(), [ROTATION_REQUEST]: request, [FLIP_AT]: flipsAt }, againMs: overlapMs };
}

/** The one that signs first; then the one that will, and the one that did. */
export function publicKeysOf(data: SecretData, clock: Clock): readonly string[] {
  return [CURRENT, NEXT, PREVIOUS]
    .map((name) => data[name])
    .filter((pem) => pem !== undefined && pem !== "")
    .map((pem) => publicKeyOf(new Secret(present(pem)), clock));
}

/** The key that signs now. */
export const currentKeyOf = (data: SecretData): Secret => new Secret(data[CURRENT] ?? "");
