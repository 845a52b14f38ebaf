/** `perdure compare`: the steps and outcomes of two invocations as a tree, such as those of a source and its fork. */
import { type AdminClient, type ComparedStep, compareSteps, type StepView, type TimelineView } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import type { TextStyle } from "../../output/index.js";
import { action, adminOf } from "./connect.js";
import { COMPARED_CALLS_MAX, COMPARED_DEPTH_MAX } from "./limits.js";
import { plain, titleOf } from "./timeline-lines.js";
import { wholeTimeline } from "./timeline-pages.js";
import { invocationId } from "./values.js";

interface ComparedInvocations {
  readonly left: string;
  readonly right: string;
  readonly statuses: { readonly left: string; readonly right: string };
  readonly steps: readonly (ComparedStep & { readonly callees?: ComparedInvocations | undefined })[];
}

export function registerCompare(program: Command, context: Context): void {
  program
    .command("compare")
    .helpGroup("Services and invocations:")
    .argument("<left>", "an invocation", invocationId)
    .argument("<right>", "another one, such as a fork of it", invocationId)
    .option("--all", "show the steps that are the same as well")
    .description("compare the steps and outcomes of two invocations, and of what they called")
    .action(
      action(async (left: string, right: string, { all }: { all?: boolean }) => {
        await showComparison(context, left, right, all === true);
      }),
    );
}

export async function showComparison(context: Context, left: string, right: string, all: boolean): Promise<void> {
  const { output } = context;
  const compared = await compareInvocations(adminOf(context), left, right, context);
  output.result(compared, () => {
    for (const line of comparisonLines(compared, all, (style, text) => output.paint(style, text))) output.print(line);
  });
}

/** Invocations that both sides called in the same step are compared too, unless it is the same one; bounded in depth and number. */
async function compareInvocations(
  admin: AdminClient,
  left: string,
  right: string,
  context: { signal: AbortSignal },
): Promise<ComparedInvocations> {
  const budget = { calls: COMPARED_CALLS_MAX };
  async function pair(leftId: string, rightId: string, depth: number): Promise<ComparedInvocations> {
    const one = await wholeTimeline(admin, leftId, true, context);
    const other = await wholeTimeline(admin, rightId, true, context);
    const steps: ComparedInvocations["steps"][number][] = [];
    for (const step of compareSteps(one.steps, other.steps)) {
      const [a, b] = [step.left?.invocation_id ?? undefined, step.right?.invocation_id ?? undefined];
      const isFollowed = a !== undefined && b !== undefined && a !== b && depth > 0 && budget.calls-- > 0;
      steps.push(isFollowed ? { ...step, callees: await pair(a, b, depth - 1).catch(() => undefined) } : step);
    }
    return { left: leftId, right: rightId, statuses: { left: statusOf(one), right: statusOf(other) }, steps };
  }
  return await pair(left, right, COMPARED_DEPTH_MAX);
}

/** `completed`, `failed`, or the status of one that has not ended. */
export function statusOf({ status, steps }: TimelineView): string {
  return status === "completed" && steps.findLast(({ type }) => type === "Output")?.result === "failure" ? "failed" : status;
}

const MARKS = { same: "=", changed: "~", left: "-", right: "+" } as const;
const STYLES = { same: "dim", changed: "yellow", left: "red", right: "green" } as const satisfies Record<string, TextStyle>;
const TEXT_CHARS_MAX = 80;

export function comparisonLines(
  { left, right, statuses, steps }: ComparedInvocations,
  all: boolean,
  paint: (style: TextStyle, text: string) => string,
): readonly string[] {
  const lines = [paint("red", `- ${left}  ${statuses.left}`), paint("green", `+ ${right}  ${statuses.right}`)];
  let sameCount = 0;
  const flush = () => {
    if (sameCount > 0) lines.push(paint("dim", `  = ${sameCount === 1 ? "1 step" : `${sameCount} steps`} as before`));
    sameCount = 0;
  };
  for (const { difference, left: one, right: other, callees } of steps) {
    const step = other ?? one;
    if (step === undefined) continue;
    if (difference === "same" && callees === undefined && !all) {
      sameCount++;
      continue;
    }
    flush();
    const index =
      one !== undefined && other !== undefined && one.index !== other.index ? `${one.index}/${other.index}` : step.index;
    const change = difference === "changed" ? `: ${resultText(one)} → ${resultText(other)}` : resultSuffix(step, difference);
    lines.push(paint(STYLES[difference], `  ${MARKS[difference]} ${index}  ${titleOf(step)}${change}`));
    if (callees !== undefined) for (const line of comparisonLines(callees, all, paint)) lines.push(`    ${line}`);
  }
  flush();
  return lines;
}

function resultSuffix(step: StepView, difference: ComparedStep["difference"]): string {
  return difference === "same" ? "" : `: ${resultText(step)}`;
}

/** The result of a step, or its argument where it has none. */
function resultText(step: StepView | undefined): string {
  if (step === undefined) return "";
  if (step.failure !== null) return `[${step.failure.code}] ${plain(step.failure.message, TEXT_CHARS_MAX)}`;
  if (step.result === "pending") return "pending";
  const payload = step.result_payload ?? step.payload;
  if (payload === null || payload === undefined) return "no value";
  return plain(String("text" in payload ? payload.text : payload["base64"]), TEXT_CHARS_MAX);
}
