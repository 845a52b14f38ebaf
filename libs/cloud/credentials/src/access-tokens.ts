/**
 * Access tokens of users (cloud.md §1.2): JWTs that identify the user; permissions are looked up with each use. All tenancy processes
 * share the keys that sign them; a key is published a day before it signs and a day after its last token has expired.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { type Clock, fromUtf8, type Logger, PerdureError, type Random, Secret, utf8 } from "@perdure/base";
import { parseUserId, randomBase62, type UserId } from "@perdure/cloud";
import type { TenancyDatabase, TokenKeyRecord } from "@perdure/postgres";
import { calculateJwkThumbprint, decodeProtectedHeader, errors, exportJWK, type JWK, jwtVerify, SignJWT } from "jose";
import type { KeyRing } from "./key-ring.js";
import {
  ACCESS_TOKEN_SECONDS,
  TOKEN_KEY_SHOWN_MS,
  TOKEN_KEY_SIGNS_MS,
  TOKEN_KEYS_READ_MS,
  TOKEN_KEYS_RELOAD_MS,
} from "./limits.js";

interface AccessTokensPorts {
  readonly database: TenancyDatabase;
  readonly ring: KeyRing;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface AccessTokensOptions {
  /** `https://api.<region>.<domain>`, the `iss` of every token. */
  readonly issuer: string;
}

interface TokenFacts {
  readonly userId: UserId;
  /** The login session that the token comes from. */
  readonly sessionId: string;
  readonly expiresAtMs: number;
}

interface IssuedToken {
  readonly token: Secret;
  readonly expiresInSeconds: number;
}

export interface AccessTokens extends AsyncDisposable {
  readonly issuer: string;
  /** Valid for twelve hours, or for `seconds`. */
  issue(userId: UserId, sessionId: string, seconds?: number): Promise<IssuedToken>;
  /** Undefined for a text that is not a valid token of this issuer now. Rejects with STO0001 when the keys cannot be read. */
  verify(token: string): Promise<TokenFacts | undefined>;
  /** Returns the content of `/oauth/jwks.json`: all keys whose tokens are valid now or soon. */
  jwks(): Promise<{ readonly keys: readonly JWK[] }>;
}

/** The `aud` of every token. */
const AUDIENCE = "perdure";
const ALGORITHM = "EdDSA";

interface Key {
  readonly kid: string;
  readonly signsFromMs: number;
  readonly publicKey: KeyObject;
  readonly sealed: Uint8Array;
}

/** Makes the first key when there is none. Rejects with STO0001, STO0003. */
export async function openAccessTokens(ports: AccessTokensPorts, options: AccessTokensOptions): Promise<AccessTokens> {
  const tokens = new SignedAccessTokens(ports, options.issuer);
  await tokens.read();
  return tokens;
}

class SignedAccessTokens implements AccessTokens {
  readonly issuer: string;
  readonly #ports: AccessTokensPorts;
  /** Keys in the order of the time from which they sign. */
  #keys: readonly Key[] = [];
  #readAtMs = 0;
  #reading: Promise<void> | undefined;
  readonly #privateKeys = new Map<string, KeyObject>();
  #isClosed = false;

  constructor(ports: AccessTokensPorts, issuer: string) {
    this.#ports = ports;
    this.issuer = issuer;
  }

  async issue(userId: UserId, sessionId: string, seconds = ACCESS_TOKEN_SECONDS): Promise<IssuedToken> {
    await this.#fresh(TOKEN_KEYS_READ_MS);
    const { clock, random } = this.#ports;
    const nowMs = clock.nowMs();
    const key = this.#keys.findLast(({ signsFromMs }) => signsFromMs <= nowMs) ?? this.#keys[0];
    if (key === undefined) throw new PerdureError("STO0003", "there is no key that signs access tokens");
    const now = Math.floor(nowMs / 1_000);
    const token = await new SignJWT({ sid: sessionId })
      .setProtectedHeader({ alg: ALGORITHM, typ: "JWT", kid: key.kid })
      .setIssuer(this.issuer)
      .setAudience(AUDIENCE)
      .setSubject(userId)
      .setIssuedAt(now)
      .setExpirationTime(now + seconds)
      .setJti(randomBase62(22, random))
      .sign(this.#privateKey(key));
    return { token: new Secret(token), expiresInSeconds: seconds };
  }

  async verify(token: string): Promise<TokenFacts | undefined> {
    await this.#fresh(TOKEN_KEYS_READ_MS);
    try {
      const { kid, alg } = decodeProtectedHeader(token);
      if (kid === undefined || alg !== ALGORITHM) return undefined;
      const key = await this.#keyOf(kid);
      if (key === undefined) return undefined;
      const { payload } = await jwtVerify(token, key.publicKey, {
        algorithms: [ALGORITHM],
        issuer: this.issuer,
        audience: AUDIENCE,
        requiredClaims: ["exp", "iat", "sub", "sid", "jti"],
        currentDate: new Date(this.#ports.clock.nowMs()),
      });
      const userId = parseUserId(payload.sub ?? "");
      const { exp, sid } = payload;
      if (userId === undefined || exp === undefined || typeof sid !== "string") return undefined;
      if (await this.#ports.database.tables.logins.isEnded(sid)) return undefined;
      return { userId, sessionId: sid, expiresAtMs: exp * 1_000 };
    } catch (cause) {
      // Malformed in any way: not a token of this issuer.
      if (cause instanceof errors.JOSEError || cause instanceof TypeError) return undefined;
      throw cause;
    }
  }

  async jwks(): Promise<{ readonly keys: readonly JWK[] }> {
    await this.#fresh(TOKEN_KEYS_READ_MS);
    const keys = this.#keys.map(async ({ kid, publicKey }) => ({
      ...(await exportJWK(publicKey)),
      kid,
      alg: ALGORITHM,
      use: "sig",
    }));
    return { keys: await Promise.all(keys) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#reading?.catch(() => undefined); // The caller of that read handles its error.
  }

  /** Reads all keys again, after making and removing those that are due. */
  async read(): Promise<void> {
    const { database, clock, logger } = this.#ports;
    const nowMs = clock.nowMs();
    let records = await database.tables.tokenKeys.all();
    if (isDue(records, nowMs)) {
      records = await database.change(async ({ tokenKeys }) => {
        await tokenKeys.lock();
        const storedKeys = await tokenKeys.all();
        for (const kid of expired(storedKeys, nowMs)) await tokenKeys.remove(kid);
        if (needsNextKey(storedKeys, nowMs)) {
          const made = await this.#newKey(nowMs, storedKeys.length === 0 ? nowMs : nowMs + TOKEN_KEY_SHOWN_MS);
          await tokenKeys.insert(made);
          logger.info({ kid: made.kid, signsFromMs: made.signsFromMs }, "made a key for access tokens");
        }
        return tokenKeys.all();
      });
    }
    this.#keys = records.map(({ kid, publicKey, privateKey, signsFromMs }) => ({
      kid,
      signsFromMs,
      publicKey: createPublicKey(publicKey),
      sealed: privateKey,
    }));
    this.#readAtMs = clock.monotonicMs();
  }

  /** Concurrent callers share one read. */
  async #fresh(ageMsMax: number): Promise<void> {
    if (this.#isClosed) throw new PerdureError("OPS0004", "the process is stopping");
    if (this.#ports.clock.monotonicMs() - this.#readAtMs < ageMsMax) return;
    this.#reading ??= this.read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #keyOf(kid: string): Promise<Key | undefined> {
    const find = (): Key | undefined => this.#keys.find((key) => key.kid === kid);
    const cached = find();
    if (cached !== undefined) return cached;
    await this.#fresh(TOKEN_KEYS_RELOAD_MS); // Another process may just have made the key.
    return find();
  }

  async #newKey(nowMs: number, signsFromMs: number): Promise<TokenKeyRecord> {
    const { ring, random } = this.#ports;
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const kid = await calculateJwkThumbprint(await exportJWK(publicKey));
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    return {
      kid,
      publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
      privateKey: ring.seal(utf8(pem), `token key ${kid}`, random),
      createdAtMs: nowMs,
      signsFromMs,
    };
  }

  #privateKey({ kid, sealed }: Key): KeyObject {
    const opened = this.#privateKeys.get(kid) ?? createPrivateKey(fromUtf8(this.#ports.ring.open(sealed, `token key ${kid}`)));
    this.#privateKeys.set(kid, opened);
    return opened;
  }
}

function isDue(keys: readonly TokenKeyRecord[], nowMs: number): boolean {
  return needsNextKey(keys, nowMs) || expired(keys, nowMs).length > 0;
}

/** A day before the newest key has signed for its full time. */
function needsNextKey(keys: readonly TokenKeyRecord[], nowMs: number): boolean {
  const last = keys.at(-1);
  return last === undefined || nowMs >= last.signsFromMs + TOKEN_KEY_SIGNS_MS - TOKEN_KEY_SHOWN_MS;
}

/** A key signs until the next one does; its last token expires later, and a day after that the key is not needed any more. */
function expired(keys: readonly TokenKeyRecord[], nowMs: number): readonly string[] {
  const neededAfterMs = ACCESS_TOKEN_SECONDS * 1_000 + TOKEN_KEY_SHOWN_MS;
  return keys
    .filter((_, i) => nowMs >= (keys[i + 1]?.signsFromMs ?? Number.POSITIVE_INFINITY) + neededAfterMs)
    .map(({ kid }) => kid);
}
