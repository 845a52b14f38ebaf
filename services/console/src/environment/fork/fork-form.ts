/** The fields of a fork: where the journal is cut, results that differ, and results of calls in a sandbox. Pure. */
import type { ForkStart, SandboxStart } from "@perdure/admin-client";
import { type InvocationTimeline, stepKind, stepName, type TimelineStep } from "../invocation/invocation-timeline.js";

type EditKind = "value" | "failure" | "none";

export interface ForkEditRow {
  /** Key of the row in the form. */
  readonly key: number;
  /** Journal index. */
  readonly step: number;
  readonly kind: EditKind;
  /** JSON of the value; undefined: that of the source, which the form shows. */
  readonly text: string | undefined;
  readonly code: string;
  readonly message: string;
}

export interface CallStub {
  readonly key: number;
  /** `Service/handler` */
  readonly target: string;
  /** JSON */
  readonly text: string;
}

export interface ForkFields {
  readonly at: number;
  readonly edits: readonly ForkEditRow[];
  readonly deployment: string;
  readonly isSandbox: boolean;
  readonly stubs: readonly CallStub[];
}

export const EDIT_KINDS: readonly { readonly value: EditKind; readonly label: string }[] = [
  { value: "value", label: "Value" },
  { value: "failure", label: "Failure" },
  { value: "none", label: "No value" },
];

/** Entries that have no result of their own. */
const WITHOUT_RESULT: ReadonlySet<string> = new Set([
  "Output",
  "OneWayCall",
  "SetState",
  "ClearState",
  "ClearAllState",
  "CompletePromise",
  "CompleteAwakeable",
  "SendSignal",
]);

export const hasResult = ({ view }: TimelineStep): boolean => !WITHOUT_RESULT.has(view.type);

/** Steps that a fork can keep: an output leaves nothing to run. */
export function keptChoices(timeline: InvocationTimeline | undefined): readonly TimelineStep[] {
  return (timeline?.steps ?? []).filter(({ view }) => view.type !== "Output");
}

/** `5: run check`; `0: input` */
export function stepLabel({ index, view }: TimelineStep): string {
  const name = stepName(view);
  return `${index}: ${stepKind(view.type)}${name === "" ? "" : ` ${name}`}`;
}

/** The first fields: the result of the chosen step is edited, if it has one. */
export function firstFields(at: number, step: TimelineStep | undefined): ForkFields {
  const edits = step !== undefined && hasResult(step) ? [newEdit(0, step.index)] : [];
  return { at, edits, deployment: "keep", isSandbox: false, stubs: [] };
}

export function newEdit(key: number, step: number): ForkEditRow {
  return { key, step, kind: "value", text: undefined, code: "500", message: "" };
}

/** A cut in front of an edited step leaves the edit out. */
export function withCut(fields: ForkFields, at: number): ForkFields {
  return { ...fields, at, edits: fields.edits.filter(({ step }) => step <= at) };
}

/** Problems by field: `edit 0`, `stub 1`. */
export type ForkProblems = ReadonlyMap<string, string>;

export function problemsOf({ edits, stubs, isSandbox }: ForkFields): ForkProblems {
  const problems = new Map<string, string>();
  const editedSteps = new Set<number>();
  for (const edit of edits) {
    const problem = editedSteps.has(edit.step) ? "This step has another edit." : editProblem(edit);
    editedSteps.add(edit.step);
    if (problem !== undefined) problems.set(`edit ${edit.key}`, problem);
  }
  for (const { key, target, text } of isSandbox ? stubs : []) {
    if (!/^[^/]+\/[^/]+$/.test(target.trim()))
      problems.set(`stub ${key}`, "Enter a service and a handler, such as Stock/reserve.");
    else if (parsed(text) === undefined) problems.set(`stub ${key}`, "The result is not JSON.");
  }
  return problems;
}

function editProblem({ kind, text, code }: ForkEditRow): string | undefined {
  if (kind === "value" && text !== undefined && parsed(text) === undefined) return "The value is not JSON.";
  const isCode = /^\d{1,5}$/.test(code) && Number(code) >= 1 && Number(code) <= 65_535;
  return kind === "failure" && !isCode ? "Enter a code from 1 to 65535." : undefined;
}

type SentEdit = NonNullable<ForkStart["edits"]>[number];

/** Values that the user has not changed are not sent: the fork keeps those of the source. */
export function forkOf({ at, edits, deployment }: ForkFields): ForkStart {
  const sent = edits.flatMap((edit): readonly SentEdit[] => {
    const { step, kind, text, code, message } = edit;
    if (kind === "none") return [{ step, none: true }];
    if (kind === "failure") return [{ step, failure: { code: Number(code), message } }];
    return text === undefined ? [] : [{ step, value: parsed(text)?.value }];
  });
  return { at, deployment, ...(sent.length === 0 ? {} : { edits: sent }) };
}

export function sandboxOf(fields: ForkFields): SandboxStart {
  const stubs = fields.stubs.map(({ target, text }) => {
    const [service = "", handler = ""] = target.trim().split("/");
    return { service, handler, value: parsed(text)?.value };
  });
  return { ...forkOf(fields), ...(stubs.length === 0 ? {} : { stubs }) };
}

/** The parsed value is in a field, because `null` is one. */
function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
