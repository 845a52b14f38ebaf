import { describe, expect, test } from "@jest/globals";
import { type Clock, Secret, systemClock } from "@perdure/base";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import { IdentityVerifier, parsePublicKey } from "./identity.js";

/** The vector of cloud.md §3.4. */
const PEM =
  "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n";
const PUBLIC = "publickeyv1_FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF";
const TOKEN =
  "eyJ0eXAiOiJKV1QiLCJhbGciOiJFZERTQSIsImtpZCI6InB1YmxpY2tleXYxX0ZBZTRzaXNHOTVvWjQydzdidVVuNXFFRTRUQW5mVFRGUGlndVpVSG1oaUYifQ." +
  "eyJhdWQiOiIvZGlzY292ZXIiLCJleHAiOjE3MDAwMDAwNjAsImlhdCI6MTcwMDAwMDAwMCwibmJmIjoxNjk5OTk5OTQwfQ." +
  "daobQ4doAwMgqqtUylwf3Lzg2ldikTVesl9_DC0cORuhMlHIvcGQLhwMJmrFt_VFIhLmDtwcO8loclP26QgvDw";
const SIGNED_AT_MS = 1_700_000_000_000;

let nowMs = SIGNED_AT_MS;
const clock: Clock = { ...systemClock, nowMs: () => nowMs };
const headersOf = (token: string) => ({ "x-restate-signature-scheme": "v1", "x-restate-jwt-v1": token });

function check(token: string, path: string, { keys = [PUBLIC], atMs = SIGNED_AT_MS } = {}): string {
  nowMs = atMs;
  const checked = new IdentityVerifier(keys, clock).check(headersOf(token), path);
  return checked.kind === "good" ? "good" : checked.reason;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a signature", () => {
  test.each(["/discover", "/base/discover", "/a/b/discover"])("of the specified vector is valid for %s", (path) => {
    expect(check(TOKEN, path)).toBe("good");
  });

  test.each(["/rediscover", "/discover/", "/", "", "/invoke/S/h"])("is for another path than %j", (path) => {
    expect(check(TOKEN, path)).toMatch("another path");
  });

  test("is valid from its first moment until its last, without leeway", () => {
    const at = (seconds: number) => check(TOKEN, "/discover", { atMs: SIGNED_AT_MS + seconds * 1000 });
    expect([at(-61), at(-60), at(59.9), at(60), at(61)].map((result) => result === "good")).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  test("that was valid before is checked again for its time and path", () => {
    nowMs = SIGNED_AT_MS;
    const verifier = new IdentityVerifier([PUBLIC], clock);
    expect(verifier.check(headersOf(TOKEN), "/discover").kind).toBe("good");
    expect(verifier.check(headersOf(TOKEN), "/other").kind).toBe("bad");
    nowMs = SIGNED_AT_MS + 61_000;
    expect(verifier.check(headersOf(TOKEN), "/discover").kind).toBe("bad");
  });

  test("may be by any of several keys, and by no other", () => {
    const other = `publickeyv1_${"1".repeat(31)}2`;
    expect(check(TOKEN, "/discover", { keys: [other, PUBLIC] })).toBe("good");
    expect(check(TOKEN, "/discover", { keys: [other] })).toMatch("none of this environment's");
    expect(check(TOKEN, "/discover", { keys: [] })).toMatch("none of this environment's");
  });

  test("with the wrong id of the right key is valid, as for SDKs", () => {
    nowMs = SIGNED_AT_MS;
    const headers: Record<string, string> = {};
    createRequestIdentity(new Secret(PEM), clock).sign(headers, "/discover", "key");
    expect(check(headers["x-restate-jwt-v1"] as string, "/discover")).toBe("good");
  });

  const [head, body, signature] = TOKEN.split(".");
  test.each([
    ["no token", ""],
    ["two parts", `${head}.${body}`],
    ["four parts", `${TOKEN}.x`],
    ["other claims", `${head}.${encode({ aud: "/x", exp: 9e9, nbf: 0 })}.${signature}`],
    ["no algorithm", `${encode({ alg: "none" })}.${body}.${signature}`],
    ["another algorithm", `${encode({ alg: "HS256", kid: PUBLIC })}.${body}.${signature}`],
    ["no signature", `${head}.${body}.`],
    ["a signature of another length", `${head}.${body}.AAAA`],
    ["no JSON", `x.y.${signature}`],
    ["a list as audience", `${head}.${encode({ aud: ["/discover"], exp: 9e9, nbf: 0 })}.${signature}`],
    ["no end", `${head}.${encode({ aud: "/discover", nbf: 0 })}.${signature}`],
    ["endless text", `${"a".repeat(5_000)}.b.c`],
  ])("with %s is bad", (_what, token) => {
    expect(check(token, "/discover")).not.toBe("good");
  });

  test("of another scheme, or missing, is not valid", () => {
    nowMs = SIGNED_AT_MS;
    const verifier = new IdentityVerifier([PUBLIC], clock);
    expect(verifier.check({}, "/discover").kind).toBe("bad");
    expect(verifier.check({ ...headersOf(TOKEN), "x-restate-signature-scheme": "v2" }, "/discover").kind).toBe("bad");
  });
});

test.each([
  "publickeyv1_",
  "publickeyv1_0OIl",
  "publickeyv2_FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF",
  `publickeyv1_${"2".repeat(65)}`,
  "FAe4",
])("%s is not a public key", (text) => {
  expect(parsePublicKey(text)).toBeUndefined();
});
