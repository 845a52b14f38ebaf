import { describe, expect, test } from "@jest/globals";
import { PerdureError, Secret, systemClock, systemRandom, utf8 } from "@perdure/base";
import { newEnvironmentId } from "@perdure/cloud";
import { createEnvironmentKeys } from "./environment-keys.js";
import { KeyRing } from "./key-ring.js";

const line = (number: number, byte: number) => `${number} ${Buffer.alloc(32, byte).toString("base64")}`;
const ring = KeyRing.parse(`# keys of production\n${line(1, 1)}\n\n${line(2, 2)} # since November\n`, "keys");
const old = KeyRing.parse(line(1, 1), "keys");
const newer = KeyRing.parse(line(2, 2), "keys");

function codeOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (cause) {
    return cause instanceof PerdureError ? cause.code : cause;
  }
}

describe("key ring", () => {
  test("refuses a malformed file, and never quotes it", () => {
    const secret = Buffer.alloc(32, 9).toString("base64");
    for (const text of [
      "",
      "# nothing",
      "one AAAA",
      `1 ${secret.slice(1)}`,
      `1 ${secret} more`,
      `${line(1, 1)}\n${line(1, 2)}`,
    ]) {
      expect(codeOf(() => KeyRing.parse(text, "keys"))).toBe("OPS0001");
      expect(() => KeyRing.parse(text, "keys")).not.toThrow(new RegExp(secret.slice(1, 20)));
    }
  });

  test("seals with the newest key and opens with all; changed bytes or another context do not open", () => {
    const sealed = ring.seal(utf8("hidden"), "a", systemRandom);
    expect(Buffer.from(sealed).includes("hidden")).toBe(false);
    expect(Buffer.from(newer.open(sealed, "a")).toString()).toBe("hidden");
    expect(Buffer.from(ring.open(old.seal(utf8("hidden"), "a", systemRandom), "a")).toString()).toBe("hidden");
    expect(codeOf(() => old.open(sealed, "a"))).toBe("STO0003");
    expect(codeOf(() => ring.open(sealed, "b"))).toBe("STO0003");
    expect(codeOf(() => ring.open(sealed.subarray(0, 20), "a"))).toBe("STO0003");
    for (let at = 0; at < sealed.length; at++) {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] as number) ^ 1;
      expect(codeOf(() => ring.open(changed, "a"))).toBe("STO0003");
    }
    expect(ring.seal(utf8("hidden"), "a", systemRandom)).not.toEqual(sealed);
  });

  test("hashes secrets with the newest pepper and compares with the one that was used", () => {
    const secret = new Secret("s");
    const { hash, pepperVersion } = old.hash(secret);
    expect([pepperVersion, ring.hash(secret).pepperVersion]).toEqual([1, 2]);
    expect(ring.matches(secret, hash, 1)).toBe(true);
    expect(ring.matches(secret, hash, 2)).toBe(false);
    expect(ring.matches(secret, hash, 3)).toBe(false);
    expect(ring.matches(new Secret("t"), hash, 1)).toBe(false);
    expect(ring.matches(secret, hash.subarray(1), 1)).toBe(false);
  });

  test("identifies runtimes by tokens that only it makes", () => {
    const id = newEnvironmentId(1, systemRandom);
    const other = newEnvironmentId(1, systemRandom);
    const token = ring.tunnelToken(id);
    expect(ring.environmentOfToken(token)).toBe(id);
    expect(ring.environmentOfToken(old.tunnelToken(id))).toBe(id);
    expect(old.environmentOfToken(token)).toBeUndefined();
    expect(ring.environmentOfToken(token.replace(id, other))).toBeUndefined();
    for (const wrong of ["", "rt_", `${token}A`, token.slice(0, -1)]) expect(ring.environmentOfToken(wrong)).toBeUndefined();
  });
});

describe("environment keys", () => {
  const keys = createEnvironmentKeys(ring, systemClock, systemRandom);
  const record = (id = newEnvironmentId(1, systemRandom)) => ({ id, dataKey: keys.newDataKey(id) });

  test("sign for one environment and do not open for another", () => {
    const [one, two] = [record(), record()];
    const made = keys.newSigningKey(one.id, one.dataKey);
    const stored = { ...made, environmentId: one.id, state: "CURRENT", createdAtMs: 1, replacedAtMs: undefined } as const;
    expect(made.publicKey).toMatch(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]+$/);
    expect(keys.signingKey(one, stored).reveal()).toMatch(/^-----BEGIN PRIVATE KEY-----\n[^-]+-----END PRIVATE KEY-----\n$/);
    expect(codeOf(() => keys.signingKey(two, stored))).toBe("STO0003");
    expect(codeOf(() => keys.signingKey({ ...one, dataKey: two.dataKey }, stored))).toBe("STO0003");
    expect(codeOf(() => keys.signingKey(one, { ...stored, publicKey: "publickeyv1_other" }))).toBe("STO0003");
  });

  test("are unreadable without the data key", () => {
    const one = record();
    const sealed = keys.sealText(one, new Secret("hidden"), "note");
    expect(keys.openText(one, sealed, "note").reveal()).toBe("hidden");
    expect(codeOf(() => keys.openText({ ...one, dataKey: undefined }, sealed, "note"))).toBe("STO0003");
  });
});
