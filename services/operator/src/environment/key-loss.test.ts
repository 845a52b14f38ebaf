import { expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { environmentWith } from "../../test/an-environment.js";
import { newSigningKey } from "../signing-key.js";
import { fingerprintOf, lostKey } from "./key-loss.js";
import { publicKeysOf, rotated } from "./key-rotation.js";
import type { SecretData } from "./secret-store.js";

const DAY_MS = 86_400_000;
const aKey = (): SecretData => ({ "current.pem": newSigningKey().reveal() });

/** Of an environment that was ready, with the public keys of `shown` in its status. */
function knowing(shown: SecretData, current: string | undefined = "1.4.0"): EnvironmentResource {
  const publicKeys = [...publicKeysOf(shown, systemClock)];
  const version = current === undefined ? {} : { version: { current } };
  return { ...environmentWith(), status: { signingKey: { publicKeys }, ...version } };
}

test("the recorded key is there: nothing is lost; it is missing, another one, or no key at all: it is, under the fingerprint that is recorded", () => {
  const key = aKey();
  const mark = fingerprintOf(publicKeysOf(key, systemClock));
  expect(lostKey(knowing(key), key, systemClock)).toBeUndefined();
  expect(lostKey(knowing(key), undefined, systemClock)).toMatchObject({ mark, message: expect.stringContaining("is missing") });
  expect(lostKey(knowing(key), aKey(), systemClock)).toMatchObject({ mark, message: expect.stringContaining("another key") });
  expect(lostKey(knowing(key), { "current.pem": "no key" }, systemClock)).toMatchObject({ mark });
  expect(lostKey(knowing(key), {}, systemClock)?.message).toContain(`acceptDataLoss: "${mark}"`);
});

test("a rotation is not a loss, also when the operator ended before it recorded a step of it", () => {
  const first = aKey();
  const at = (nowMs: number) => ({ nowMs, overlapMs: DAY_MS, newKey: newSigningKey });
  const shown = rotated(first, "once", at(0)).data;
  const flipped = rotated(shown, "once", at(DAY_MS)).data;
  for (const recorded of [first, shown])
    for (const stored of [first, shown, flipped]) expect(lostKey(knowing(recorded), stored, systemClock)).toBeUndefined();
});

test("before an environment was ready once, no key is recorded", () => {
  expect(
    lostKey({ ...knowing(aKey()), status: { signingKey: { publicKeys: ["publickeyv1_x"] } } }, undefined, systemClock),
  ).toBeUndefined();
  expect(lostKey(environmentWith(), undefined, systemClock)).toBeUndefined();
});
