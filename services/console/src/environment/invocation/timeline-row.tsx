/** One row of a timeline: its name on the left, its bars in time, and all of it as one text. */
import { durationText, shortId } from "../../kit/index.js";
import type { StepFate } from "./crash-status.js";
import {
  attemptText,
  type InvocationTimeline,
  lengthOf,
  phaseLabel,
  phaseText,
  resultLabel,
  stepKind,
  stepName,
  stepText,
  type TimelineStep,
  type TimeSpan,
} from "./invocation-timeline.js";
import type { PendingWait } from "./pending-waits.js";
import { placeOf, type TimelineRow } from "./timeline-layout.js";

/** The whole row as text: `run 'pack it', 120 ms, succeeded, at 61 ms`. */
export function rowText(row: TimelineRow, timeline: InvocationTimeline): string {
  const offset = (span: TimeSpan) => `, at ${durationText(span.fromMs - timeline.span.fromMs)}`;
  switch (row.kind) {
    case "phases":
      return `${row.timeline.target}: ${row.timeline.sums.map(({ phase, ms }) => `${phaseLabel(phase)} ${durationText(ms)}`).join(", ")}`;
    case "attempts":
      return `${row.bars.length} attempts, ${row.bars.filter(({ outcome }) => outcome === "failed").length} of them failed`;
    case "attempt":
      return `${attemptText(row.bar)}, ${stepsText(row.stepCount)}${offset(row.bar)}`;
    case "step":
      return `${stepText(row.bar)}${calledText(row)}${row.attempt === undefined ? "" : `, attempt ${row.attempt}`}${offset(row.bar)}`;
    case "group":
      return `${row.bars.length} steps: ${row.text}${offset(barSpan(row) ?? timeline.span)}`;
    case "wait":
      return `${waitText(row.bar)}${offset(row.bar)}`;
    case "more":
      return row.depth === 0 ? "Show more steps" : "Open its page for more steps";
    case "note":
      return row.text;
  }
}

function calledText({ bar, isRepeatedCall }: Extract<TimelineRow, { readonly kind: "step" }>): string {
  return isRepeatedCall && bar.view.invocation_id !== null ? `, ${shortId(bar.view.invocation_id)}` : "";
}

function stepsText(count: number): string {
  return count === 1 ? "1 step" : `${count} steps`;
}

export function barSpan(row: TimelineRow): TimeSpan | undefined {
  switch (row.kind) {
    case "phases":
      return { fromMs: row.bars[0]?.fromMs ?? row.timeline.span.fromMs, toMs: row.bars.at(-1)?.toMs ?? row.timeline.span.fromMs };
    case "attempts":
      return { fromMs: row.bars[0]?.fromMs ?? 0, toMs: row.bars.at(-1)?.toMs ?? 0 };
    case "group":
      return { fromMs: row.bars[0]?.fromMs ?? 0, toMs: row.bars.reduce((latest, { toMs }) => Math.max(latest, toMs), 0) };
    case "attempt":
    case "wait":
    case "step":
      return row.bar;
    default:
      return undefined;
  }
}

interface RowNameProps {
  readonly row: TimelineRow;
  /** Fate of the step since an attempt was cut off. */
  readonly fate: StepFate;
  readonly onToggle: (() => void) | undefined;
}

/** The row itself has the text, the role and the keys: its contents are for sight and mouse only. */
export function RowName({ row, fate, onToggle }: RowNameProps) {
  return (
    <span className="tl__name" aria-hidden="true" style={{ paddingInlineStart: `${row.depth * 1.1}rem` }}>
      {onToggle === undefined ? (
        <span className="tl__fold" />
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: the tree has the keys
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
        <span
          className="tl__fold tl__fold--on"
          onClick={(event) => {
            event.stopPropagation();
            onToggle();
          }}
        >
          {isOpen(row) ? "▾" : "▸"}
        </span>
      )}
      <NameText row={row} />
      {fate !== undefined && (
        <span className={`tl__fate tl__fate--${fate}`}>{fate === "replayed" ? "replayed" : "run again"}</span>
      )}
      <span className="tl__took">{tookText(row)}</span>
    </span>
  );
}

function isOpen(row: TimelineRow): boolean {
  return (row.kind === "step" || row.kind === "attempts" || row.kind === "group") && row.isUnfolded === true;
}

function NameText({ row }: { readonly row: TimelineRow }) {
  switch (row.kind) {
    case "phases":
      return <strong className="tl__words">{row.depth === 0 ? "Total" : row.timeline.target}</strong>;
    case "attempts":
      return <span className="tl__words">{row.bars.length} attempts</span>;
    case "attempt":
      return (
        <span className="tl__words">
          attempt {row.bar.number}
          {row.bar.outcome === "failed" && <span className="tl__sign tl__sign--bad"> failed</span>}{" "}
          <span className="quiet small">{stepsText(row.stepCount)}</span>
        </span>
      );
    case "step": {
      const { view, result } = row.bar;
      return (
        <span className="tl__words">
          <span className="quiet">{stepKind(view.type)}</span> {stepName(view)}
          {row.isRepeatedCall && view.invocation_id !== null && <code className="quiet"> {shortId(view.invocation_id)}</code>}
          {result !== "success" && (
            <span className={`tl__sign tl__sign--${result === "failure" ? "bad" : "open"}`}> {resultLabel(result)}</span>
          )}
          {row.attempt !== undefined && (
            <span className="tl__attempt" title={`attempt ${row.attempt}`}>
              #{row.attempt}
            </span>
          )}
        </span>
      );
    }
    case "group":
      return (
        <span className="tl__words">
          {row.bars.length} × {row.text}
        </span>
      );
    case "wait":
      return (
        <span className="tl__words">
          <span className="quiet">{WAIT_KINDS[row.bar.kind]}</span>{" "}
          {row.bar.kind === "awakeable" ? shortId(row.bar.name) : row.bar.name}{" "}
          <span className="tl__sign tl__sign--open">{row.bar.kind === "retry" ? startText(row.bar) : "pending"}</span>
        </span>
      );
    case "more":
      return <span className="tl__words tl__link">{row.depth === 0 ? "Show more steps" : "Open its page for more"}</span>;
    case "note":
      return <span className={`tl__words ${row.isProblem ? "inv-failed" : "quiet"}`}>{row.text}</span>;
  }
}

function tookText(row: TimelineRow): string {
  const span = barSpan(row);
  if (span === undefined || row.kind === "attempts") return "";
  if (row.kind === "attempt" && row.bar.isStartUnknown) return "?";
  return durationText(lengthOf(span));
}

/** The bars of a row, in percent of the lane. */
export function Bars({ row, window }: { readonly row: TimelineRow; readonly window: TimeSpan }) {
  return (
    <span className="tl__lane" aria-hidden="true">
      {barsOf(row).map(({ span, appearance, title, key }) => {
        const place = placeOf(span, window);
        if (place === undefined) return null;
        return (
          <span
            key={key}
            className={`tl__bar tl__bar--${appearance}`}
            title={title}
            style={{ left: `${place.left}%`, width: `${place.width}%` }}
          />
        );
      })}
    </span>
  );
}

interface TimelineBar {
  readonly key: string | number;
  readonly span: TimeSpan;
  readonly appearance: string;
  readonly title: string;
}

function barsOf(row: TimelineRow): readonly TimelineBar[] {
  switch (row.kind) {
    case "phases":
      return row.bars.map((bar) => ({ key: bar.fromMs, span: bar, appearance: `phase-${bar.phase}`, title: phaseText(bar) }));
    case "attempts":
      return row.bars.map((bar) => ({
        key: bar.number,
        span: bar,
        appearance: `attempt-${bar.outcome}`,
        title: attemptText(bar),
      }));
    case "attempt":
      return [{ key: row.bar.number, span: row.bar, appearance: `attempt-${row.bar.outcome}`, title: attemptText(row.bar) }];
    case "step": {
      const { result, view } = row.bar;
      const appearance = result === "success" ? `step-${familyOf(view.type)}` : `step-${result}`;
      return [{ key: row.bar.index, span: row.bar, appearance, title: stepText(row.bar) }];
    }
    case "group":
      return mergedBars(row.bars);
    case "wait":
      return [
        {
          key: row.key,
          span: row.bar,
          appearance: row.bar.kind === "retry" ? "retry" : "step-pending",
          title: waitText(row.bar),
        },
      ];
    default:
      return [];
  }
}

/** Bars of a group that are closer than a pixel become one: hundreds of elements in a row cost much and show nothing. */
function mergedBars(steps: readonly TimelineStep[]): readonly TimelineBar[] {
  const bars: TimelineBar[] = [];
  const whole = (steps.at(-1)?.toMs ?? 0) - (steps[0]?.fromMs ?? 0);
  for (const step of steps) {
    const last = bars.at(-1);
    const appearance = `step-${familyOf(step.view.type)}`;
    if (last !== undefined && step.fromMs - last.span.toMs <= whole / GROUP_BARS_MAX) {
      const span = { fromMs: last.span.fromMs, toMs: Math.max(last.span.toMs, step.toMs) };
      bars[bars.length - 1] = { ...last, span };
    } else bars.push({ key: step.index, span: step, appearance, title: stepText(step) });
  }
  return bars;
}

/** Bars further apart than this part of their group stay apart. */
const GROUP_BARS_MAX = 100;

const WAIT_KINDS: Readonly<Record<PendingWait["kind"], string>> = {
  awakeable: "await awakeable",
  signal: "await signal",
  retry: "next attempt",
};

/** `await signal 'go', pending` */
function waitText(wait: PendingWait): string {
  if (wait.kind === "retry") return `next attempt ${wait.name}, ${startText(wait)}`;
  return `${WAIT_KINDS[wait.kind]} '${wait.name}', ${durationText(lengthOf(wait))}, pending`;
}

function startText({ startsInMs }: PendingWait): string {
  if (startsInMs === undefined) return "as soon as a slot is free";
  return startsInMs < 1_000 ? "now" : `in ${durationText(startsInMs)}`;
}

/** Whether the time was spent in the handler's own code, in a called handler, or waiting. */
function familyOf(type: string): "run" | "other" | "wait" | "instant" {
  if (type === "Run") return "run";
  if (type === "Call" || type === "OneWayCall" || type === "AttachInvocation" || type === "GetInvocationOutput") return "other";
  return type === "Sleep" || type === "GetPromise" || type === "Signal" ? "wait" : "instant";
}
