/** The patterns that exist in every language come true with the endpoints in Python, Go and Java. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { executable } from "@perdure/dev-cluster";
import { endpointIn, LANGUAGES } from "#kit/languages";
import { type Check, Stage } from "#kit/stage";
import { PATTERNS } from "#patterns/patterns";

const BUILD_MS = 600_000;

describe.each(LANGUAGES)("with the SDK of %s", (language) => {
  let stage: Stage;
  const checks: Check[] = [];
  beforeAll(async () => {
    await executable(); // Built, and not older than the sources.
    const endpoint = await endpointIn(language);
    stage = await Stage.start(
      { said: () => undefined, crashed: () => undefined, checked: (check) => checks.push(check) },
      { endpoint },
    );
  }, BUILD_MS);
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test.each(PATTERNS.filter(({ isInEveryLanguage }) => isInEveryLanguage === true))(
    "$name: $summary",
    async ({ demo }) => {
      checks.length = 0;
      await demo(stage);
      expect(checks.filter(({ isTrue }) => !isTrue)).toEqual([]);
      expect(checks.length).toBeGreaterThan(1);
    },
    120_000,
  );
});
