/** Where the steps of two invocations differ, as a tree: calls that both made in the same step unfold. */
import { type ComparedStep, compareSteps, type StepView } from "@perdure/admin-client";
import { useMemo, useState } from "react";
import { Button, CheckField, durationText, Loaded } from "../../kit/index.js";
import { usePayloads } from "../invocation/invocation-data.js";
import { stepKind, stepName } from "../invocation/invocation-timeline.js";
import { valueOfPayload } from "../invocation/value-text.js";

/** Characters of a value in the tree; the whole is on the page of its invocation. */
const TEXT_CHARS_MAX = 200;

/** Items of a tree that are drawn before the user requests all of them: a page with thousands of them is slow. */
const ITEMS_MAX = 200;

const MARKS = { same: "=", changed: "~", left: "−", right: "+" } as const;

/** Names of the two invocations, such as `source` and `fork`. */
export interface ComparedSides {
  readonly left: string;
  readonly right: string;
  /** Which of the two, in a sentence: `the source`. */
  readonly theLeft: string;
  readonly theRight: string;
  /** Two runs of their own, and not copies: keys and ids may differ, durations are shown beside each other, and slower steps are marked. */
  readonly areRuns: boolean;
}

const FORK_SIDES: ComparedSides = {
  left: "Source",
  right: "Fork",
  theLeft: "the source",
  theRight: "the fork",
  areRuns: false,
};

interface StepTreeProps {
  readonly left: readonly StepView[];
  readonly right: readonly StepView[];
  readonly sides?: ComparedSides;
}

export function StepTree({ left, right, sides = FORK_SIDES }: StepTreeProps) {
  const compared = useMemo(() => compareSteps(left, right, { areKeysIgnored: sides.areRuns }), [left, right, sides]);
  return <ComparedSteps compared={compared} sides={sides} />;
}

interface ComparedStepsProps {
  readonly compared: readonly ComparedStep[];
  readonly sides: ComparedSides;
  /** Has a mark. */
  readonly marked?: ComparedStep | undefined;
}

export function ComparedSteps({ compared, sides, marked }: ComparedStepsProps) {
  const [isAll, setAll] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const isHidden = (step: ComparedStep) =>
    step.difference === "same" && calleesOf(step) === undefined && !(sides.areRuns && isSlower(step));
  const hidden = compared.filter(isHidden).length;
  const listed = compared.filter((step) => isAll || !isHidden(step));
  const drawn = isWhole ? listed : listed.slice(0, ITEMS_MAX);
  return (
    <div className="stack stack--tight">
      <p className="quiet small">
        <span aria-hidden="true">
          ~ changed, − only in {sides.theLeft}, + only in {sides.theRight}.{" "}
        </span>
        {compared.length === hidden && "All steps are the same."}
      </p>
      <ul className="fork-tree" aria-label="Compared steps">
        {drawn.map((step) => (
          <TreeItem
            key={`${step.left?.index ?? ""}/${step.right?.index ?? ""}`}
            step={step}
            sides={sides}
            isMarked={step === marked}
          />
        ))}
      </ul>
      {drawn.length < listed.length && (
        <div>
          <Button isSmall onClick={() => setWhole(true)}>
            Show {(listed.length - drawn.length).toLocaleString("en")} more steps
          </Button>
        </div>
      )}
      {hidden > 0 && <CheckField label={`Show steps that are the same (${hidden})`} isOn={isAll} onChange={setAll} />}
    </div>
  );
}

interface TreeItemProps {
  readonly step: ComparedStep;
  readonly sides: ComparedSides;
  readonly isMarked: boolean;
}

function TreeItem({ step, sides, isMarked }: TreeItemProps) {
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
            <span className="visually-hidden">, {meaningOf(difference, sides)}</span>
            {isMarked && <span className="fork-tree__first small">first other outcome</span>}
          </span>
          {difference !== "right" && difference !== "same" && <Value label={sides.left} step={left} isOld />}
          {difference !== "left" && difference !== "same" && <Value label={sides.right} step={right} />}
        </div>
        {sides.areRuns && <Durations step={step} sides={sides} />}
        {callees !== undefined && (
          <Button isSmall appearance="bare" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide steps" : "Compare steps"} <span className="visually-hidden">of {title}</span>
          </Button>
        )}
      </div>
      {isOpen && callees !== undefined && <Comparison left={callees.left} right={callees.right} sides={sides} />}
    </li>
  );
}

function meaningOf(difference: ComparedStep["difference"], { theLeft, theRight }: ComparedSides): string {
  switch (difference) {
    case "same":
      return "the same";
    case "changed":
      return "changed";
    case "left":
      return `only in ${theLeft}`;
    case "right":
      return `only in ${theRight}`;
  }
}

function Durations({ step, sides }: { readonly step: ComparedStep; readonly sides: ComparedSides }) {
  return (
    <span className="fork-tree__took small">
      {isSlower(step) && <strong>slower </strong>}
      {tookText(step.left)}
      <span className="visually-hidden"> in {sides.theLeft}</span>
      <span className="quiet" aria-hidden="true">
        {" → "}
      </span>
      <span className="visually-hidden">, </span>
      {tookText(step.right)}
      <span className="visually-hidden"> in {sides.theRight}</span>
    </span>
  );
}

function tookText(step: StepView | undefined): string {
  if (step === undefined) return "–";
  return step.duration_ms === null ? "pending" : durationText(step.duration_ms);
}

/** A step is slower when it took this many times as long, and this much longer: shorter times vary from run to run. */
const SLOWER_FACTOR = 2;
const SLOWER_BY_MS = 100;

function isSlower({ left, right }: ComparedStep): boolean {
  const [before, now] = [left?.duration_ms ?? undefined, right?.duration_ms ?? undefined];
  return before !== undefined && now !== undefined && now >= before * SLOWER_FACTOR && now - before >= SLOWER_BY_MS;
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

interface ComparisonProps {
  readonly left: string;
  readonly right: string;
  readonly sides?: ComparedSides;
}

/** Compares two stored invocations. */
export function Comparison({ left, right, sides = FORK_SIDES }: ComparisonProps) {
  const [source, fork] = [usePayloads(left, 0, "comparison"), usePayloads(right, 0, "comparison")];
  return (
    <Loaded query={source}>
      {(one) => <Loaded query={fork}>{(other) => <StepTree left={one.steps} right={other.steps} sides={sides} />}</Loaded>}
    </Loaded>
  );
}
