import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { silentLogger, systemRandom } from "@perdure/base";
import { newUserId, type UserId } from "@perdure/cloud";
import { type AccessTokens, KeyRing, openAccessTokens } from "@perdure/credentials";
import { openTenancyDatabase, type TenancyDatabase } from "@perdure/postgres";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { VirtualClock } from "@perdure/testkit";
import { TEST_KEYS } from "../src/testing/index.js";

const ISSUER = "https://api.us.perdure.test";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ring = KeyRing.parse(TEST_KEYS, "test");

let empty: EmptyDatabase;
let database: TenancyDatabase;
beforeAll(async () => {
  empty = await startDatabase();
  database = await openTenancyDatabase(empty.url, silentLogger);
}, 120_000);
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await empty[Symbol.asyncDispose]();
});

let clock: VirtualClock;
let userId: UserId;
beforeEach(async () => {
  await database.tables.session.write("DELETE FROM perdure_token_keys");
  clock = new VirtualClock();
  userId = newUserId(clock.nowMs(), systemRandom);
});

const open = (): Promise<AccessTokens> =>
  openAccessTokens({ database, ring, clock, random: systemRandom, logger: silentLogger }, { issuer: ISSUER });

const decode = (part: string | undefined): Record<string, unknown> =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8"));
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("access tokens", () => {
  test("have the form that the official command line requires, and identify the user", async () => {
    await using tokens = await open();
    const { token, expiresInSeconds } = await tokens.issue(userId, "session_7");
    const parts = token.reveal().split(".");
    expect(parts).toHaveLength(3);
    expect(token.reveal()).not.toContain("=");
    const now = Math.floor(clock.nowMs() / 1_000);
    const { keys } = await tokens.jwks();
    expect(decode(parts[0])).toEqual({ alg: "EdDSA", typ: "JWT", kid: keys[0]?.kid });
    const claims = { iss: ISSUER, aud: "perdure", sub: userId, sid: "session_7", iat: now, exp: now + 43_200 };
    expect(decode(parts[1])).toEqual({ ...claims, jti: expect.stringMatching(/^[0-9A-Za-z]{22}$/) });
    expect(expiresInSeconds).toBe(43_200);
    expect(await tokens.verify(token.reveal())).toEqual({ userId, sessionId: "session_7", expiresAtMs: (now + 43_200) * 1_000 });
    expect(keys).toEqual([
      { kty: "OKP", crv: "Ed25519", x: expect.any(String), kid: expect.any(String), alg: "EdDSA", use: "sig" },
    ]);
  });

  test("are valid in every process, also with a key that another one just made", async () => {
    await using one = await open();
    const first = await one.issue(userId, "s");
    await using two = await open();
    expect(await two.verify(first.token.reveal())).toMatchObject({ userId });
    expect(await two.jwks()).toEqual(await one.jwks());
  });

  test("expire to the second", async () => {
    await using tokens = await open();
    const { token } = await tokens.issue(userId, "s");
    clock.advanceBy(12 * HOUR_MS - 1_000);
    expect(await tokens.verify(token.reveal())).toMatchObject({ userId });
    clock.advanceBy(1_000);
    expect(await tokens.verify(token.reveal())).toBeUndefined();
  });

  test("keys are published a day before they sign and a day after their last use", async () => {
    await using tokens = await open();
    const kids = async () => (await tokens.jwks()).keys.map(({ kid }) => kid);
    const signer = async () => decode((await tokens.issue(userId, "s")).token.reveal().split(".")[0])["kid"];
    const [first] = await kids();
    clock.advanceBy(29 * DAY_MS - 1);
    expect(await kids()).toEqual([first]);
    clock.advanceBy(60_001);
    const [, second] = await kids();
    expect(second).toBeDefined();
    expect(await signer()).toBe(first);
    clock.advanceBy(DAY_MS - 60_001);
    expect(await signer()).toBe(first);
    const last = (await tokens.issue(userId, "s")).token.reveal();
    clock.advanceBy(60_002);
    expect(await signer()).toBe(second);
    clock.advanceBy(11 * HOUR_MS);
    expect(await tokens.verify(last)).toMatchObject({ userId });
    clock.advanceBy(24 * HOUR_MS);
    expect(await kids()).toEqual([first, second]);
    clock.advanceBy(2 * HOUR_MS);
    expect(await kids()).toEqual([second]);
  });

  test("processes that start together make one key", async () => {
    const all = await Promise.all([1, 2, 3, 4].map(open));
    expect(await database.tables.tokenKeys.all()).toHaveLength(1);
    for (const each of all) await each[Symbol.asyncDispose]();
  });

  test("T17: forged ones are refused", async () => {
    await using tokens = await open();
    const good = (await tokens.issue(userId, "s")).token.reveal();
    const [head = "", body = "", signature = ""] = good.split(".");
    const header = decode(head);
    const claims = decode(body);
    const { privateKey: otherKey } = generateKeyPairSync("ed25519");
    const ours = privateKeyOf(await database.tables.tokenKeys.all());
    const signed = (h: object, c: object, key: KeyObject) => {
      const input = `${encode(h)}.${encode(c)}`;
      return `${input}.${sign(null, Buffer.from(input), key).toString("base64url")}`;
    };
    expect(await tokens.verify(signed(header, claims, ours))).toMatchObject({ userId });
    const publicKey = createPublicKey(ours).export({ type: "spki", format: "pem" });
    const hmac = `${encode({ ...header, alg: "HS256" })}.${body}`;
    const without = (name: string) => Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));
    const corpus: Record<string, string> = {
      "alg none": `${encode({ ...header, alg: "none" })}.${body}.`,
      "no signature": `${head}.${body}.`,
      "two parts": `${head}.${body}`,
      "another key": signed(header, claims, otherKey),
      "HMAC with the public key": `${hmac}.${createHmac("sha256", publicKey).update(hmac).digest("base64url")}`,
      "unknown kid": signed({ ...header, kid: "unknown" }, claims, ours),
      "kid is a path": signed({ ...header, kid: "../../etc/passwd" }, claims, ours),
      "no kid": signed({ alg: "EdDSA", typ: "JWT" }, claims, ours),
      "key inside": signed({ ...header, jwk: { kty: "OKP" }, kid: "x" }, claims, otherKey),
      "other issuer": signed(header, { ...claims, iss: "https://evil.test" }, ours),
      "other audience": signed(header, { ...claims, aud: "else" }, ours),
      expired: signed(header, { ...claims, exp: (claims["iat"] as number) - 1 }, ours),
      "exp is text": signed(header, { ...claims, exp: "9999999999" }, ours),
      "no exp": signed(header, without("exp"), ours),
      "no sid": signed(header, without("sid"), ours),
      "no sub": signed(header, without("sub"), ours),
      "sub is not a user": signed(header, { ...claims, sub: "root" }, ours),
      "claims changed": `${head}.${encode({ ...claims, sub: newUserId(1, systemRandom) })}.${signature}`,
      "critical extension": signed({ ...header, crit: ["exp"] }, claims, ours),
      nothing: "",
      noise: "ey.ey.ey",
      "an API key": "key_x.y",
    };
    for (const [name, token] of Object.entries(corpus)) expect([name, await tokens.verify(token)]).toEqual([name, undefined]);
  });
});

function privateKeyOf(keys: readonly { readonly kid: string; readonly privateKey: Uint8Array }[]): KeyObject {
  const [key] = keys;
  if (key === undefined) throw new Error("there is no key");
  const pem = Buffer.from(ring.open(key.privateKey, `token key ${key.kid}`)).toString("utf8");
  return createPrivateKey(pem);
}
