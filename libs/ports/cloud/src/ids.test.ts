import { describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import {
  bareOf,
  environmentOfBare,
  newAccountId,
  newApiKeyId,
  newEnvironmentId,
  newUserId,
  parseAccountId,
  parseApiKeyId,
  parseBareEnvironmentId,
  parseEnvironmentId,
  parseUserId,
  randomBase62,
} from "./ids.js";

const NOW_MS = 1_795_000_000_000;

describe("ids of the cloud", () => {
  test("environment ids have the form of the specification, sort by time and make a DNS label", () => {
    const early = newEnvironmentId(NOW_MS, systemRandom);
    const later = newEnvironmentId(NOW_MS + 1, systemRandom);
    expect(early).toMatch(/^env_2[0-7][0-9a-hjkmnp-tv-z]{25}$/);
    expect(early < later).toBe(true);
    expect(bareOf(early)).toHaveLength(27);
    expect(environmentOfBare(bareOf(early))).toBe(early);
  });

  test("ids that were made are accepted, slightly different texts are not", () => {
    const environment = newEnvironmentId(NOW_MS, systemRandom);
    expect(parseEnvironmentId(environment)).toBe(environment);
    expect(parseEnvironmentId(environment.toUpperCase())).toBeUndefined();
    expect(parseEnvironmentId(`${environment}0`)).toBeUndefined();
    expect(parseBareEnvironmentId(bareOf(environment))).toBe(bareOf(environment));
    expect(parseBareEnvironmentId(environment)).toBeUndefined();
    const account = newAccountId(systemRandom);
    expect(parseAccountId(account)).toBe(account);
    expect(parseAccountId(`${account}/..`)).toBeUndefined();
    const key = newApiKeyId(systemRandom);
    expect(parseApiKeyId(key)).toBe(key);
    expect(parseApiKeyId(account)).toBeUndefined();
    const user = newUserId(NOW_MS, systemRandom);
    expect(parseUserId(user)).toBe(user);
  });

  test("random characters are of the alphabet, each about equally often", () => {
    const counts = new Map<string, number>();
    for (const letter of randomBase62(62_000, systemRandom)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(250);
  });
});
