/**
 * Verifies the signature that an environment's runtime adds to each request (cloud.md §3): the signature, the times, and the path.
 * Official tunnel clients leave the check of the path to the SDK behind them.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { BoundedCache, type Clock, jsonFields, parseJson } from "@perdure/base";
import { SIGNATURES_MAX, TOKEN_CHARS_MAX } from "./limits.js";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const PREFIX = "publickeyv1_";
/** Prefix of the SPKI form of an Ed25519 key (RFC 8410). */
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** Undefined unless it is `publickeyv1_` and 32 bytes in base 58. */
export function parsePublicKey(text: string): KeyObject | undefined {
  const raw = text.startsWith(PREFIX) ? base58Decode(text.slice(PREFIX.length)) : undefined;
  if (raw?.length !== 32) return undefined;
  return createPublicKey({ key: Buffer.concat([SPKI, raw]), format: "der", type: "spki" });
}

type IdentityCheck = { readonly kind: "good" } | { readonly kind: "bad"; readonly reason: string };

interface Claims {
  readonly aud: string;
  /** Seconds since 1970. */
  readonly exp: number;
  readonly nbf: number;
}

const GOOD: IdentityCheck = { kind: "good" };

/** Verifies against several keys, because keys are replaced while services run (cloud.md §3.5). */
export class IdentityVerifier {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #clock: Clock;
  /** Claims of verified tokens, by token. */
  readonly #verifiedClaims = new BoundedCache<string, Claims>({ entriesMax: SIGNATURES_MAX });

  /** `publicKeys`: `publickeyv1_…`; entries that cannot be parsed are ignored. */
  constructor(publicKeys: readonly string[], clock: Clock) {
    const keys = new Map<string, KeyObject>();
    for (const text of publicKeys) {
      const key = parsePublicKey(text);
      if (key !== undefined) keys.set(text, key);
    }
    this.#keys = keys;
    this.#clock = clock;
  }

  /** `path`: path of the request at the service, without its query; the signature must be for it or for its last segments. */
  check(headers: Readonly<Record<string, unknown>>, path: string): IdentityCheck {
    if (headers["x-restate-signature-scheme"] !== "v1") return bad("the request is not signed");
    const token = headers["x-restate-jwt-v1"];
    if (typeof token !== "string" || token.length > TOKEN_CHARS_MAX) return bad("the request has no signature");
    const claims = this.#verifiedClaims.peek(token) ?? this.#verified(token);
    if (claims === undefined) return bad("the signature is none of this environment's");
    const now = this.#clock.nowMs() / 1000;
    if (claims.exp <= now || claims.nbf > now) return bad("the signature is not of this time");
    return isFor(claims.aud, path) ? GOOD : bad("the signature is for another path");
  }

  #verified(token: string): Claims | undefined {
    const [head = "", body = "", signature = "", more] = token.split(".");
    if (signature === "" || more !== undefined) return undefined;
    const header = jsonOf(head);
    if (header?.["alg"] !== "EdDSA") return undefined;
    const claims = claimsOf(jsonOf(body));
    if (claims === undefined || !this.#isSigned(`${head}.${body}`, signature, header["kid"])) return undefined;
    this.#verifiedClaims.set(token, claims);
    return claims;
  }

  #isSigned(signed: string, signature: string, kid: unknown): boolean {
    const bytes = Buffer.from(signed, "latin1");
    const proof = Buffer.from(signature, "base64url");
    const named = typeof kid === "string" ? this.#keys.get(kid) : undefined;
    if (named !== undefined) return verify(null, bytes, named, proof);
    for (const key of this.#keys.values()) if (verify(null, bytes, key, proof)) return true;
    return false;
  }
}

/** Compares whole segments: `/discover` is for `/base/discover`, not for `/rediscover`. */
function isFor(audience: string, path: string): boolean {
  return audience.length > 1 && audience.startsWith("/") && path.endsWith(audience);
}

function claimsOf(claims: Readonly<Record<string, unknown>> | undefined): Claims | undefined {
  const { aud, exp, nbf } = claims ?? {};
  return typeof aud === "string" && typeof exp === "number" && typeof nbf === "number" ? { aud, exp, nbf } : undefined;
}

/** Undefined when it is not a token. */
function jsonOf(part: string): Readonly<Record<string, unknown>> | undefined {
  return jsonFields(parseJson(Buffer.from(part, "base64url").toString("utf8")));
}

function base58Decode(text: string): Uint8Array | undefined {
  if (text.length > 64) return undefined;
  let number = 0n;
  for (const char of text) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return undefined;
    number = number * 58n + BigInt(digit);
  }
  const bytes: number[] = [];
  for (; number > 0n; number /= 256n) bytes.unshift(Number(number % 256n));
  for (const char of text) {
    if (char !== "1") break;
    bytes.unshift(0);
  }
  return Uint8Array.from(bytes);
}

function bad(reason: string): IdentityCheck {
  return { kind: "bad", reason };
}
