import { expect, test } from "@jest/globals";
import { RATES } from "@perdure/identity";
import { loadSettings } from "./config.js";
import { rateMaximaOf } from "./limit-settings.js";

const limitsOf = (environment: Readonly<Record<string, string>> = {}) =>
  loadSettings({ file: undefined, environment, flags: [] }).values.limits;

test("limits are those of the specification unless a setting overrides them", () => {
  for (const [rate, max] of Object.entries(rateMaximaOf(limitsOf()))) {
    expect([rate, max]).toEqual([rate, RATES[rate as keyof typeof RATES].max]);
  }
  const limits = limitsOf({ PERDURE_LIMITS__SIGN_INS_PER_NETWORK: "600", PERDURE_LIMITS__REQUESTS_AT_ONCE: "1000" });
  expect(rateMaximaOf(limits)["sign-in by address"]).toBe(600);
  expect(limits).toMatchObject({ requestsAtOnce: 1_000, requestsAtOncePerNetwork: 128 });
});

test.each(["0", "-1", "many"])("a limit of %s is refused by the name of its setting", (text) => {
  expect(() => limitsOf({ PERDURE_LIMITS__MAILS_PER_NETWORK: text })).toThrow(/limits\.mails-per-network.*at least 1/);
});
