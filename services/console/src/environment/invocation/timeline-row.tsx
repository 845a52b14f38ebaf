/** Why: what one row of a timeline says: its name on the left, its bars in time, and all of it as one text. */
import { durationText } from "../../kit/index.js";
import type { StepFate } from "./crash-story.js";
import {
  attemptText,
  type Life,
  lengthOf,
  phaseText,
  phaseWord,
  resultWord,
  type Span,
  stepKind,
  stepName,
  stepText,
} from "./life.js";
import { placeOf, type TimelineRow } from "./timeline-layout.js";

/** The whole row in words: `run 'pack it', 120 ms, succeeded, at 61 ms`. */
export function rowText(row: TimelineRow, life: Life): string {
  const offset = (span: Span) => `, at ${durationText(span.fromMs - life.span.fromMs)}`;
  switch (row.kind) {
    case "phases":
      return `${row.life.target}: ${row.life.sums.map(({ phase, ms }) => `${phaseWord(phase)} ${durationText(ms)}`).join(", ")}`;
    case "attempts":
      return `${row.bars.length} attempts, ${row.bars.filter(({ outcome }) => outcome === "failed").length} of them failed`;
    case "attempt":
      return `${attemptText(row.bar)}${offset(row.bar)}`;
    case "step":
      return `${stepText(row.bar)}${offset(row.bar)}`;
    case "more":
      return row.depth === 0 ? "Show more steps" : "Open its page for more steps";
    case "note":
      return row.text;
  }
}

export function barSpan(row: TimelineRow): Span | undefined {
  switch (row.kind) {
    case "phases":
      return { fromMs: row.bars[0]?.fromMs ?? row.life.span.fromMs, toMs: row.bars.at(-1)?.toMs ?? row.life.span.fromMs };
    case "attempts":
      return { fromMs: row.bars[0]?.fromMs ?? 0, toMs: row.bars.at(-1)?.toMs ?? 0 };
    case "attempt":
    case "step":
      return row.bar;
    default:
      return undefined;
  }
}

export interface RowNameProps {
  readonly row: TimelineRow;
  /** Since an attempt was cut off. */
  readonly fate: StepFate;
  readonly onToggle: (() => void) | undefined;
}

/** The row itself has the text, the role and the keys: what is in here is for eyes and mice. */
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
      <NameWords row={row} />
      {fate !== undefined && (
        <span className={`tl__fate tl__fate--${fate}`}>{fate === "replayed" ? "replayed" : "run again"}</span>
      )}
      <span className="tl__took">{tookText(row)}</span>
    </span>
  );
}

function isOpen(row: TimelineRow): boolean {
  return (row.kind === "step" || row.kind === "attempts") && row.isUnfolded === true;
}

function NameWords({ row }: { readonly row: TimelineRow }) {
  switch (row.kind) {
    case "phases":
      return <strong className="tl__words">{row.depth === 0 ? "Total" : row.life.target}</strong>;
    case "attempts":
      return <span className="tl__words">{row.bars.length} attempts</span>;
    case "attempt":
      return (
        <span className="tl__words">
          attempt {row.bar.number}
          {row.bar.outcome === "failed" && <span className="tl__sign tl__sign--bad"> failed</span>}
        </span>
      );
    case "step": {
      const { view, result } = row.bar;
      return (
        <span className="tl__words">
          <span className="quiet">{stepKind(view.type)}</span> {stepName(view)}
          {result !== "success" && (
            <span className={`tl__sign tl__sign--${result === "failure" ? "bad" : "open"}`}> {resultWord(result)}</span>
          )}
        </span>
      );
    }
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
export function Bars({ row, window }: { readonly row: TimelineRow; readonly window: Span }) {
  return (
    <span className="tl__lane" aria-hidden="true">
      {barsOf(row).map(({ span, look, title, key }) => {
        const place = placeOf(span, window);
        if (place === undefined) return null;
        return (
          <span
            key={key}
            className={`tl__bar tl__bar--${look}`}
            title={title}
            style={{ left: `${place.left}%`, width: `${place.width}%` }}
          />
        );
      })}
    </span>
  );
}

interface Bar {
  readonly key: string | number;
  readonly span: Span;
  readonly look: string;
  readonly title: string;
}

function barsOf(row: TimelineRow): readonly Bar[] {
  switch (row.kind) {
    case "phases":
      return row.bars.map((bar) => ({ key: bar.fromMs, span: bar, look: `phase-${bar.phase}`, title: phaseText(bar) }));
    case "attempts":
      return row.bars.map((bar) => ({ key: bar.number, span: bar, look: `attempt-${bar.outcome}`, title: attemptText(bar) }));
    case "attempt":
      return [{ key: row.bar.number, span: row.bar, look: `attempt-${row.bar.outcome}`, title: attemptText(row.bar) }];
    case "step": {
      const { result, view } = row.bar;
      const look = result === "success" ? `step-${familyOf(view.type)}` : `step-${result}`;
      return [{ key: row.bar.index, span: row.bar, look, title: stepText(row.bar) }];
    }
    default:
      return [];
  }
}

/** Whose time it was: of the own code, of somebody else's, of nobody's. */
function familyOf(type: string): "run" | "other" | "wait" | "instant" {
  if (type === "Run") return "run";
  if (type === "Call" || type === "OneWayCall" || type === "AttachInvocation" || type === "GetInvocationOutput") return "other";
  return type === "Sleep" || type === "GetPromise" || type === "Signal" ? "wait" : "instant";
}
