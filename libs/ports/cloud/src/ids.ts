/** Ids of accounts, environments, users and keys (cloud.md §4.1, §5.1): made by `newX`, checked by `parseX`. */
import type { Brand, Random } from "@perdure/base";

/** `acc_` and 23 characters of base 62. */
export type AccountId = Brand<string, "AccountId">;
/** `env_2` and a ULID in lower-case Crockford base 32. */
export type EnvironmentId = Brand<string, "EnvironmentId">;
/** An environment id without `env_`: the first label of its host names. */
export type BareEnvironmentId = Brand<string, "BareEnvironmentId">;
/** `user_` and a ULID in lower-case Crockford base 32. */
export type UserId = Brand<string, "UserId">;
/** `key_` and 23 characters of base 62; public, unlike the rest of the key. */
export type ApiKeyId = Brand<string, "ApiKeyId">;

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_CHARS = 23;
const ULID = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const SHORT_ID = /^[0-9A-Za-z]{23}$/;

export function newAccountId(random: Random): AccountId {
  return `acc_${randomBase62(ID_CHARS, random)}` as AccountId;
}

export function newApiKeyId(random: Random): ApiKeyId {
  return `key_${randomBase62(ID_CHARS, random)}` as ApiKeyId;
}

export function newEnvironmentId(nowMs: number, random: Random): EnvironmentId {
  return `env_2${lowerUlid(nowMs, random)}` as EnvironmentId;
}

export function newUserId(nowMs: number, random: Random): UserId {
  return `user_${lowerUlid(nowMs, random)}` as UserId;
}

export function parseAccountId(text: string): AccountId | undefined {
  return text.startsWith("acc_") && SHORT_ID.test(text.slice(4)) ? (text as AccountId) : undefined;
}

export function parseApiKeyId(text: string): ApiKeyId | undefined {
  return text.startsWith("key_") && SHORT_ID.test(text.slice(4)) ? (text as ApiKeyId) : undefined;
}

export function parseEnvironmentId(text: string): EnvironmentId | undefined {
  return text.startsWith("env_2") && ULID.test(text.slice(5)) ? (text as EnvironmentId) : undefined;
}

/** Lower case is expected: the gateway converts host names to lower case once. */
export function parseBareEnvironmentId(text: string): BareEnvironmentId | undefined {
  return text.startsWith("2") && ULID.test(text.slice(1)) ? (text as BareEnvironmentId) : undefined;
}

export function parseUserId(text: string): UserId | undefined {
  return text.startsWith("user_") && ULID.test(text.slice(5)) ? (text as UserId) : undefined;
}

export function bareOf(id: EnvironmentId): BareEnvironmentId {
  return id.slice("env_".length) as BareEnvironmentId;
}

export function environmentOfBare(bare: BareEnvironmentId): EnvironmentId {
  return `env_${bare}` as EnvironmentId;
}

/** `count` characters, each of the 62 with the same probability. */
export function randomBase62(count: number, random: Random): string {
  const bytes = new Uint8Array(count * 2);
  let text = "";
  while (text.length < count) {
    random.bytes(bytes);
    for (const byte of bytes) {
      // 248 = 4 × 62: higher values would make the first characters of the alphabet likelier.
      if (byte < 248 && text.length < count) text += BASE62[byte % 62];
    }
  }
  return text;
}

function lowerUlid(nowMs: number, random: Random): string {
  let time = "";
  for (let rest = nowMs, n = 0; n < 10; n++) {
    time = CROCKFORD[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  const chance = new Uint8Array(16);
  random.bytes(chance);
  let tail = "";
  for (const byte of chance) tail += CROCKFORD[byte & 31];
  return time + tail;
}
