/** Finds the run that a failing one is compared with, and where the two differ. Pure. */
import { COMPARED_STEPS_MAX, type ComparedStep, type StepView, sqlText } from "@perdure/admin-client";
import { durationText } from "../../kit/time-text.js";
import type { InvocationSummary } from "../invocation/invocation-facts.js";
import { resultLabel, stepKind, stepName } from "../invocation/invocation-timeline.js";

/** The newest run of the handler that succeeded and whose journal is kept, on any deployment and for any key. */
export function lastGoodStatement({ id, service, handler }: Pick<InvocationSummary, "id" | "service" | "handler">): string {
  return (
    `SELECT id FROM sys_invocation WHERE status = 'completed' AND completion_result = 'success' ` +
    `AND target_service_name = ${sqlText(service)} AND target_handler_name = ${sqlText(handler)} ` +
    `AND journal_size > 0 AND id <> ${sqlText(id)} ORDER BY completed_at DESC LIMIT 1`
  );
}

interface FirstDifferences {
  /** The first step that is not the same in both. */
  readonly any: ComparedStep | undefined;
  /** The first step that only one of them has, or whose outcome (success, failure, pending) differs. */
  readonly outcome: ComparedStep | undefined;
}

export function firstDifferences(compared: readonly ComparedStep[]): FirstDifferences {
  return {
    any: compared.find(({ difference }) => difference !== "same"),
    outcome: compared.find(({ difference, left, right }) => difference !== "same" && left?.result !== right?.result),
  };
}

/** `isOver`: this run has completed, so that a step that it lacks will not come. */
export function differenceTexts({ any, outcome }: FirstDifferences, isOver: boolean): readonly string[] {
  if (any === undefined) return ["All compared steps are the same in both runs."];
  const texts: string[] = [];
  if (any !== outcome) texts.push(`The runs first differ at ${titleOf(any)}: ${valueText(any)}.`);
  if (outcome === undefined) texts.push("No step has another outcome.");
  else texts.push(`The first step with another outcome is ${titleOf(outcome)}: ${outcomeText(outcome, isOver)}.`);
  return texts;
}

function valueText({ left, right }: ComparedStep): string {
  if (left?.subject !== right?.subject) return `${left?.subject} before, ${right?.subject} now`;
  if (left?.failure !== null || right?.failure !== null) return "it failed in another way";
  return left?.type === "Input" ? "another input" : "another value";
}

function outcomeText({ left, right }: ComparedStep, isOver: boolean): string {
  if (right === undefined) return `this run ${isOver ? "has no such step" : "has not reached it"}`;
  if (left === undefined) return `only this run has it${failureText(right)}`;
  return `${resultLabel(left.result)} in the last good run, ${resultLabel(right.result)} in this run${failureText(right)}`;
}

function failureText({ failure }: StepView): string {
  return failure === null ? "" : ` with [${failure.code}] ${failure.message.slice(0, FAILURE_CHARS_MAX)}`;
}

/** Characters of a failure's message within a sentence; the tree below shows more of it. */
const FAILURE_CHARS_MAX = 120;

function titleOf({ left, right }: ComparedStep): string {
  const step = right ?? left;
  if (step === undefined) return "";
  const name = stepName(step);
  return `${stepKind(step.type)}${name === "" ? "" : ` '${name}'`} (entry ${step.index})`;
}

/** What the comparison leaves out, as a sentence; undefined when it has all steps. */
export function leftOutText(isLeftLonger: boolean, isRightLonger: boolean): string | undefined {
  if (!isLeftLonger && !isRightLonger) return undefined;
  const whose = isLeftLonger && isRightLonger ? "both runs" : isLeftLonger ? "the last good run" : "this run";
  return `The first ${COMPARED_STEPS_MAX.toLocaleString("en")} steps are compared. Later steps of ${whose} are left out.`;
}

interface ComparedFact {
  readonly name: string;
  readonly good: string;
  readonly now: string;
  readonly isOther: boolean;
}

/** Facts of both runs beside each other; versions, keys and attempts only where they differ. */
export function comparedFacts(good: InvocationSummary, now: InvocationSummary, nowMs: number): readonly ComparedFact[] {
  const facts: ComparedFact[] = [{ name: "Duration", good: tookText(good, nowMs), now: tookText(now, nowMs), isOther: false }];
  const other = (name: string, textOf: (run: InvocationSummary) => string | undefined) => {
    const [one, two] = [textOf(good) ?? "–", textOf(now) ?? "–"];
    if (one !== two) facts.push({ name, good: one, now: two, isOther: true });
  };
  other("Deployment", ({ deploymentId }) => deploymentId);
  other("SDK", ({ sdk }) => sdk);
  other("Key", ({ key, isService }) => (isService ? undefined : key));
  other("Invoked by", ({ callerTarget, invokedBy }) => callerTarget ?? invokedBy);
  return facts;
}

function tookText({ createdAt, completedAt }: InvocationSummary, nowMs: number): string {
  if (createdAt === undefined) return "–";
  const ms = (completedAt === undefined ? nowMs : Date.parse(completedAt)) - Date.parse(createdAt);
  return `${durationText(Math.max(0, ms))}${completedAt === undefined ? " so far" : ""}`;
}

/** Whether both ran on one deployment, as a sentence. */
export function deploymentText({ deploymentId: good }: InvocationSummary, { deploymentId: now }: InvocationSummary): string {
  if (good === undefined || now === undefined) return "The deployment of one of the two is not recorded.";
  return good === now ? "Both ran on the same deployment." : "They ran on different deployments.";
}
