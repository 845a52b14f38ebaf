/** The demo of every pattern comes true: each kills the server or the endpoint in the middle. All share one server and one endpoint. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { executable } from "@perdure/dev-cluster";
import { type Check, Stage } from "#kit/stage";
import { PATTERNS } from "#patterns/patterns";

let stage: Stage;
const checks: Check[] = [];
const crashes: string[] = [];

beforeAll(async () => {
  await executable(); // Built, and not older than the sources.
  stage = await Stage.start({
    said: () => undefined,
    crashed: (text) => crashes.push(text),
    checked: (check) => checks.push(check),
  });
}, 120_000);
afterAll(() => stage?.[Symbol.asyncDispose]());

// Patterns that need more than Node have suites of their own.
test.each(PATTERNS.filter(({ needs }) => needs === undefined))(
  "$name: $summary",
  async ({ demo }) => {
    checks.length = 0;
    crashes.length = 0;
    await demo(stage);
    expect(checks.filter(({ isTrue }) => !isTrue)).toEqual([]);
    expect(checks.length).toBeGreaterThan(1);
    expect(crashes.length).toBeGreaterThan(0);
  },
  120_000,
);
