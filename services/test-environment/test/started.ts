/** Environments for suites: what handlers log is kept, and all are disposed after each test. */
import { afterEach, expect } from "@jest/globals";
import { type ExpectedStep, type Journal, stepMatchers, TestEnvironment, type TestEnvironmentOptions } from "../src/index.js";

expect.extend(stepMatchers);

let environments: TestEnvironment[] = [];

/** What the handlers of the running test have logged. */
export const logged: string[] = [];

export async function start(options: TestEnvironmentOptions): Promise<TestEnvironment> {
  const log: TestEnvironmentOptions["log"] = ({ parts }) => {
    logged.push(parts.map((part) => (part instanceof Error ? part.stack : String(part))).join(" "));
  };
  const environment = await TestEnvironment.start({ log, ...options });
  environments.push(environment);
  return environment;
}

afterEach(async () => {
  const started = environments;
  environments = [];
  logged.length = 0;
  await Promise.all(started.map((environment) => environment[Symbol.asyncDispose]()));
});

/** `expect` with the matcher, whose type Jest's globals do not learn from `expect.extend`. */
export function expectSteps(journal: Journal): { toMatchSteps(expected: readonly ExpectedStep[]): void } {
  return expect(journal) as unknown as ReturnType<typeof expectSteps>;
}

export const DAY_MS = 86_400_000;
