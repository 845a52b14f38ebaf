/** The matcher `toMatchSteps`, for `expect.extend` of Jest, Vitest and Bun, and as a function for other runners. */
import { z } from "zod";

const SomeJournal = z.object({ target: z.string(), status: z.string(), steps: z.array(z.object({ label: z.string() })) });

interface MatchResult {
  readonly pass: boolean;
  readonly message: () => string;
}

export type ExpectedStep = string | RegExp;

/** `expected`: all steps in order, by label or pattern. */
export function matchSteps(received: unknown, expected: readonly ExpectedStep[]): MatchResult {
  const journal = SomeJournal.safeParse(received);
  if (!journal.success) {
    return { pass: false, message: () => `toMatchSteps compares a journal: expect(await env.journal(handle)).toMatchSteps([…])` };
  }
  const labels = journal.data.steps.map(({ label }) => label);
  const pass = labels.length === expected.length && labels.every((label, index) => matches(label, expected[index]));
  return { pass, message: () => describe(journal.data, labels, expected, pass) };
}

function matches(label: string, expected: ExpectedStep | undefined): boolean {
  return typeof expected === "string" ? label === expected : expected?.test(label) === true;
}

function describe(
  { target, status }: z.output<typeof SomeJournal>,
  labels: readonly string[],
  expected: readonly ExpectedStep[],
  pass: boolean,
): string {
  if (pass) return `expected the steps of ${target} (${status}) to differ from: ${labels.join(" · ")}`;
  const lines: string[] = [`the steps of ${target} (${status}) differ:`, ""];
  for (let index = 0; index < Math.max(labels.length, expected.length); index++) {
    const label = labels[index];
    const required = expected[index];
    if (label !== undefined && matches(label, required)) lines.push(`  ${label}`);
    else {
      if (required !== undefined) lines.push(`- ${String(required)}`);
      if (label !== undefined) lines.push(`+ ${label}`);
    }
  }
  return [...lines, "", "- expected, + received"].join("\n");
}

/** For `expect.extend(stepMatchers)`. */
export const stepMatchers = { toMatchSteps: matchSteps };
