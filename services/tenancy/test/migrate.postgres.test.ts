/** `perdure tenancy migrate` as a release runs it: a process that migrates the database and ends. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { programBundle } from "@perdure/dev-cluster";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";

const TEST_MS = 60_000;

let database: EmptyDatabase;
let bundle: string;

beforeAll(async () => {
  [database, bundle] = await Promise.all([startDatabase(), programBundle("services/tenancy")]);
}, 180_000);
afterAll(() => database[Symbol.asyncDispose]());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function migrate(...args: readonly string[]): Promise<Outcome> {
  const env = { PATH: process.env["PATH"], PERDURE_LOG_FORMAT: "json" };
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [bundle, "migrate", ...args], { env })) };
  } catch (cause) {
    return cause as Outcome;
  }
}

const steps = ({ stdout }: Outcome): number => stdout.split('"msg":"database migrated"').length - 1;

test(
  "two at once apply each step once, a third has nothing to do, and all report success",
  async () => {
    const flag = `--metadata.postgres-url=${database.url}`;
    const both = await Promise.all([migrate(flag), migrate(flag)]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const appliedSteps = both.map(steps);
    expect(Math.min(...appliedSteps)).toBe(0);
    expect(Math.max(...appliedSteps)).toBeGreaterThan(0);
    const third = await migrate(flag);
    expect([third.code, steps(third)]).toEqual([0, 0]);
    for (const { stdout } of [...both, third]) expect(stdout).toContain('"msg":"the database is up to date"');
  },
  TEST_MS,
);

test(
  "without a database, or with one that does not answer, it reports the error and fails",
  async () => {
    const [unnamed, unreachable] = await Promise.all([
      migrate(),
      migrate("--metadata.postgres-url=postgres://me:hidden@127.0.0.1:1/db"),
    ]);
    expect(unnamed).toMatchObject({ code: 1, stderr: expect.stringContaining("'metadata.postgres-url' must be set") });
    expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringMatching(/^perdure tenancy migrate failed\.\n\nSTO0001/) });
    expect(unreachable.stdout + unreachable.stderr).not.toContain("hidden");
  },
  TEST_MS,
);
