import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { PerdureError, Secret } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { base58 } from "./base58.js";
import { createRequestIdentity } from "./identity.js";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const clock = new VirtualClock(1_795_000_000_500);

function parts(jwt: string): { header: unknown; claims: unknown; signed: Buffer; signature: Buffer } {
  const [header = "", claims = "", signature = ""] = jwt.split(".");
  const parse = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
  return {
    header: parse(header),
    claims: parse(claims),
    signed: Buffer.from(`${header}.${claims}`),
    signature: Buffer.from(signature, "base64url"),
  };
}

describe("request identity", () => {
  test("signs path, time and key with the configured key", () => {
    const identity = createRequestIdentity(new Secret(pem), clock);
    const headers: Record<string, string> = {};
    identity.sign(headers, "/invoke/Svc/run", "a key");
    expect(headers["x-restate-signature-scheme"]).toBe("v1");
    const { header, claims, signed, signature } = parts(headers["x-restate-jwt-v1"]!);
    expect(header).toEqual({ typ: "JWT", alg: "EdDSA", kid: identity.publicKey });
    expect(claims).toEqual({
      aud: "/invoke/Svc/run",
      iat: 1_795_000_000,
      nbf: 1_794_999_940,
      exp: 1_795_000_060,
      sub: "a key",
    });
    expect(verify(null, signed, publicKey, signature)).toBe(true);
    signed[0]! ^= 1;
    expect(verify(null, signed, publicKey, signature)).toBe(false);
  });

  test("leaves the subject out where there is no key", () => {
    const headers: Record<string, string> = {};
    createRequestIdentity(new Secret(pem), clock).sign(headers, "/discover", undefined);
    expect(parts(headers["x-restate-jwt-v1"]!).claims).not.toHaveProperty("sub");
  });

  test("names its public key as SDKs are given it", () => {
    const raw = createPublicKey(privateKey).export({ format: "jwk" }).x!;
    expect(createRequestIdentity(new Secret(pem), clock).publicKey).toBe(`publickeyv1_${base58(Buffer.from(raw, "base64url"))}`);
  });

  test.each([
    ["nothing", ""],
    ["two blocks", pem + pem],
    ["a public key", publicKey.export({ type: "spki", format: "pem" }).toString()],
    [
      "another algorithm",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    ],
    ["garbage in the block", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
  ])("refuses %s", (_what, text) => {
    expect(() => createRequestIdentity(new Secret(text), clock)).toThrow(PerdureError);
  });

  test("base58 keeps leading zeros", () => {
    expect(base58(Uint8Array.of(0, 0, 1))).toBe("112");
    expect(base58(Buffer.from("hello world"))).toBe("StV1DL6CwTryKyV");
    expect(base58(new Uint8Array())).toBe("");
  });
});
