/**
 * The form of an API key (cloud.md §4.1). Gateways and relays reject malformed keys by it without a request to tenancy.
 *
 * key_<23 characters>.<38 characters><6 characters: CRC-32 of all before>        all of base 62
 */
import { crc32 } from "node:zlib";
import { type Random, Secret } from "@perdure/base";
import { type ApiKeyId, newApiKeyId, randomBase62 } from "./ids.js";

/** 226 bits. */
const RANDOM_CHARS = 38;
const CHECK_CHARS = 6;
const SHAPE = /^(key_[0-9A-Za-z]{23})\.([0-9A-Za-z]{44})$/;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

interface ApiKeyParts {
  readonly id: ApiKeyId;
  /** The part after the dot. */
  readonly secret: Secret;
}

/** Makes a new key. Its owner sees `apiKeyText` of the key once. */
export function newApiKey(random: Random): ApiKeyParts {
  const id = newApiKeyId(random);
  const text = `${id}.${randomBase62(RANDOM_CHARS, random)}`;
  return { id, secret: new Secret(text.slice(id.length + 1) + checkOf(text)) };
}

export function apiKeyText({ id, secret }: ApiKeyParts): string {
  return `${id}.${secret.reveal()}`;
}

/** Undefined when the form or the checksum is wrong: no such key was ever issued. */
export function parseApiKey(text: string): ApiKeyParts | undefined {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, id = "", secret = ""] = match;
  if (checkOf(text.slice(0, -CHECK_CHARS)) !== secret.slice(-CHECK_CHARS)) return undefined;
  return { id: id as ApiKeyId, secret: new Secret(secret) };
}

function checkOf(text: string): string {
  let rest = crc32(text);
  let check = "";
  for (let n = 0; n < CHECK_CHARS; n++) {
    check = BASE62[rest % 62] + check;
    rest = Math.floor(rest / 62);
  }
  return check;
}
