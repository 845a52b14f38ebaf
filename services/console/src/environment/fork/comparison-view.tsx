/** Where the steps of two invocations differ, as a tree: calls that both made in the same step unfold. */
import { type ComparedStep, compareSteps, type StepView } from "@perdure/admin-client";
import { useMemo, useState } from "react";
import { Button, CheckField, Loaded } from "../../kit/index.js";
import { usePayloads } from "../invocation/invocation-data.js";
import { stepKind, stepName } from "../invocation/invocation-timeline.js";
import { valueOfPayload } from "../invocation/value-text.js";

/** Characters of a value in the tree; the whole is on the page of its invocation. */
const TEXT_CHARS_MAX = 200;

const MARKS = { same: "=", changed: "~", left: "−", right: "+" } as const;
const MEANINGS = { same: "the same", changed: "changed", left: "only in the source", right: "only in the fork" } as const;

interface StepTreeProps {
  readonly left: readonly StepView[];
  readonly right: readonly StepView[];
}

export function StepTree({ left, right }: StepTreeProps) {
  const compared = useMemo(() => compareSteps(left, right), [left, right]);
  const [isAll, setAll] = useState(false);
  const isHidden = (step: ComparedStep) => step.difference === "same" && calleesOf(step) === undefined;
  const hidden = compared.filter(isHidden).length;
  return (
    <div className="stack stack--tight">
      <p className="quiet small">
        <span aria-hidden="true">~ changed, − only in the source, + only in the fork. </span>
        {compared.length === hidden && "All steps are the same."}
      </p>
      <ul className="fork-tree" aria-label="Compared steps">
        {compared
          .filter((step) => isAll || !isHidden(step))
          .map((step) => (
            <TreeItem key={`${step.left?.index ?? ""}/${step.right?.index ?? ""}`} step={step} />
          ))}
      </ul>
      {hidden > 0 && <CheckField label={`Show steps that are the same (${hidden})`} isOn={isAll} onChange={setAll} />}
    </div>
  );
}

function TreeItem({ step }: { readonly step: ComparedStep }) {
  const { difference, left, right } = step;
  const [isOpen, setOpen] = useState(false);
  const shown = right ?? left;
  if (shown === undefined) return null;
  const callees = calleesOf(step);
  const name = stepName(shown);
  const title = `${stepKind(shown.type)}${name === "" ? "" : ` '${name}'`}`;
  return (
    <li>
      <div className={`fork-tree__step fork-tree__step--${difference}`}>
        <span className="fork-tree__mark" aria-hidden="true">
          {MARKS[difference]}
        </span>
        <div className="fork-tree__text">
          <span>
            {title} <span className="quiet small">entry {indexText(left, right)}</span>
            <span className="visually-hidden">, {MEANINGS[difference]}</span>
          </span>
          {difference !== "right" && difference !== "same" && <Value label="Source" step={left} isOld />}
          {difference !== "left" && difference !== "same" && <Value label="Fork" step={right} />}
        </div>
        {callees !== undefined && (
          <Button isSmall appearance="bare" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide steps" : "Compare steps"} <span className="visually-hidden">of {title}</span>
          </Button>
        )}
      </div>
      {isOpen && callees !== undefined && <Comparison left={callees.left} right={callees.right} />}
    </li>
  );
}

function Value({
  label,
  step,
  isOld,
}: {
  readonly label: string;
  readonly step: StepView | undefined;
  readonly isOld?: boolean;
}) {
  return (
    <span className={`fork-tree__value${isOld === true ? " fork-tree__value--old" : ""}`}>
      <span className="quiet small">{label}</span> <code>{resultText(step)}</code>
    </span>
  );
}

/** Two invocations that both sides called in the same step. */
function calleesOf({ left, right }: ComparedStep): { readonly left: string; readonly right: string } | undefined {
  const [one, other] = [left?.invocation_id ?? undefined, right?.invocation_id ?? undefined];
  return one === undefined || other === undefined || one === other ? undefined : { left: one, right: other };
}

function indexText(left: StepView | undefined, right: StepView | undefined): string {
  const [one, other] = [left?.index, right?.index];
  return one !== undefined && other !== undefined && one !== other ? `${one} and ${other}` : String(other ?? one ?? "");
}

/** The result of a step, or its argument where it has none. */
function resultText(step: StepView | undefined): string {
  if (step === undefined) return "";
  if (step.failure !== null) return `[${step.failure.code}] ${step.failure.message}`.slice(0, TEXT_CHARS_MAX);
  if (step.result === "pending") return "pending";
  const payload = step.result_payload ?? step.payload;
  if (payload === null || payload === undefined) return "no value";
  const { text, isCut } = valueOfPayload(payload);
  return text.length > TEXT_CHARS_MAX || isCut ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
}

/** Compares two stored invocations. */
export function Comparison({ left, right }: { readonly left: string; readonly right: string }) {
  const [source, fork] = [usePayloads(left, 0, "comparison"), usePayloads(right, 0, "comparison")];
  return (
    <Loaded query={source}>
      {(one) => <Loaded query={fork}>{(other) => <StepTree left={one.steps} right={other.steps} />}</Loaded>}
    </Loaded>
  );
}
