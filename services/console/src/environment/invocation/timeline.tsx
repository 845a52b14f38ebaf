/** The timeline of an invocation. Needs only the id: it loads, polls and unfolds by itself. */
import type { ExplanationView } from "@perdure/admin-client";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Button, durationText, Loaded } from "../../kit/index.js";
import type { Crash } from "./crash-status.js";
import { criticalPathOf } from "./critical-path.js";
import { CriticalPathView } from "./critical-path-view.js";
import { useChildren, useTimeline } from "./invocation-data.js";
import { type InvocationTimeline, percent, phaseLabel, type TimeSpan } from "./invocation-timeline.js";
import { SEARCHED_STEPS_MIN, STEP_PAGES_MAX, UNFOLDED_MAX } from "./limits.js";
import { Minimap } from "./minimap.js";
import { pendingWaitsOf } from "./pending-waits.js";
import { TimelineChart } from "./timeline-chart.js";
import { foldedCalls, panned, type RowsOptions, rowsOf, type TimelineRow, unfoldedChildIds, zoomed } from "./timeline-layout.js";
import { LATEST, TimelineTools, useStepTools } from "./timeline-tools.js";
import "./timeline.css";

interface TimelineProps {
  readonly id: string;
  /** Lower, and without buttons. */
  readonly compact?: boolean;
  /** Journal index of the step that is chosen. */
  readonly step?: number | undefined;
  readonly onStep?: ((index: number | undefined) => void) | undefined;
  /** An attempt was cut off: steps before it are marked as replayed. */
  readonly crash?: Crash | undefined;
  /** Current waits that no step shows. */
  readonly explanation?: ExplanationView | undefined;
}

export function Timeline(props: TimelineProps) {
  // State of one invocation is never shown for another.
  return <TimelineOf key={props.id} {...props} />;
}

function TimelineOf(props: TimelineProps) {
  const [pages, setPages] = useState(1);
  const query = useTimeline(props.id, pages);
  return (
    <Loaded query={query}>
      {(timeline) => (
        <LoadedTimeline
          {...props}
          timeline={timeline}
          canLoad={pages < STEP_PAGES_MAX}
          onPages={setPages}
          onMore={() => setPages((count) => Math.min(STEP_PAGES_MAX, count + 1))}
        />
      )}
    </Loaded>
  );
}

/** The timeline that the caller has loaded. */
export function LoadedTimeline({
  timeline,
  compact,
  step,
  onStep,
  crash,
  explanation,
  canLoad,
  onMore,
  onPages,
}: TimelineProps & {
  readonly timeline: InvocationTimeline;
  /** Whether further steps can be loaded, if there are any. */
  readonly canLoad: boolean;
  readonly onMore: () => void;
  readonly onPages: (pages: number) => void;
}) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [zoom, setZoom] = useState<TimeSpan>();
  const [, navigate] = useLocation();
  const tools = useStepTools();
  const path = useMemo(() => criticalPathOf(timeline), [timeline]);
  const rows = useRows(timeline, {
    unfolded,
    isCompact: compact,
    // The effect of a crash on each step is shown per step.
    isGrouped: tools.isGrouped && crash === undefined,
    search: tools.search,
    attempt: tools.attempt,
    shown: step,
    waits: explanation === undefined ? [] : pendingWaitsOf(explanation, timeline),
  });

  const toggle = ({ key }: TimelineRow) =>
    setUnfolded((keys) => {
      const next = new Set(keys);
      if (!next.delete(key) && next.size < UNFOLDED_MAX) next.add(key);
      return next;
    });
  const choose = (row: TimelineRow) => {
    if (row.kind === "more") return row.depth === 0 ? onMore() : navigate(`/invocations/${encodeURIComponent(row.invocationId)}`);
    if (row.depth > 0) return navigate(childAddress(row));
    if (row.kind === "step") onStep?.(row.bar.index === step ? undefined : row.bar.index);
  };
  return (
    <div className="stack stack--tight">
      <div className="row row--spread">
        <Legend timeline={timeline} />
        {compact !== true && (
          <div className="row">
            <ExpandButtons rows={rows} unfolded={unfolded} onChange={setUnfolded} />
            <ZoomButtons zoom={zoom} whole={timeline.span} onZoom={setZoom} />
          </div>
        )}
      </div>
      {compact !== true && (
        <CriticalPathView
          timeline={timeline}
          path={path}
          canLoad={canLoad}
          onStep={(index) => {
            tools.set({ search: "", attempt: undefined, jump: { key: String(index) } });
            onStep?.(index);
          }}
          onPages={onPages}
        />
      )}
      {compact !== true && (
        <TimelineTools
          timeline={timeline}
          tools={tools}
          matchCount={rows.filter((row) => row.kind === "step" && row.depth === 0).length}
          onPages={onPages}
        />
      )}
      {compact !== true && (zoom !== undefined || timeline.steps.length >= SEARCHED_STEPS_MIN) && (
        <Minimap timeline={timeline} window={zoom} onWindow={setZoom} />
      )}
      <TimelineChart
        timeline={timeline}
        rows={rows}
        window={zoom}
        onWindow={setZoom}
        onPan={(by) => setZoom((window) => panned(window, timeline.span, by))}
        onToggle={toggle}
        onChoose={choose}
        chosen={step === undefined ? undefined : String(step)}
        crash={crash}
        isCompact={compact}
        criticalSteps={path?.steps}
        jump={useJump(tools.jump, rows)}
      />
      <Remarks timeline={timeline} isCompact={compact === true} />
    </div>
  );
}

interface ZoomButtonsProps {
  readonly zoom: TimeSpan | undefined;
  readonly whole: TimeSpan;
  readonly onZoom: (zoom: TimeSpan | undefined) => void;
}

function ZoomButtons({ zoom, whole, onZoom }: ZoomButtonsProps) {
  return (
    <>
      <Button isSmall aria-label="Zoom out" onClick={() => onZoom(zoomed(zoom, whole, 2))}>
        −
      </Button>
      <Button isSmall aria-label="Zoom in" onClick={() => onZoom(zoomed(zoom, whole, 0.5))}>
        +
      </Button>
      <Button
        isSmall
        onClick={() => onZoom(undefined)}
        forbidden={zoom === undefined ? "The whole timeline is visible." : undefined}
      >
        Fit
      </Button>
    </>
  );
}

interface ExpandButtonsProps {
  readonly rows: readonly TimelineRow[];
  readonly unfolded: ReadonlySet<string>;
  readonly onChange: (unfolded: ReadonlySet<string>) => void;
}

/** Expands the calls that are in sight, one level with each press, or collapses everything. */
function ExpandButtons({ rows, unfolded, onChange }: ExpandButtonsProps) {
  const folded = foldedCalls(rows);
  const space = UNFOLDED_MAX - unfolded.size;
  return (
    <>
      {folded.length > 0 && (
        <Button
          isSmall
          title="Shows the timelines of called invocations; press again for the calls in them"
          forbidden={space <= 0 ? `At most ${UNFOLDED_MAX} calls are expanded at the same time.` : undefined}
          onClick={() => onChange(new Set([...unfolded, ...folded.slice(0, space)]))}
        >
          Expand calls
        </Button>
      )}
      {unfolded.size > 0 && (
        <Button isSmall onClick={() => onChange(new Set())}>
          Collapse all
        </Button>
      )}
    </>
  );
}

/** The row that is jumped to: the one that is named, or the last one, which changes while steps are loaded. */
function useJump(jump: { readonly key: string } | undefined, rows: readonly TimelineRow[]) {
  const last = rows.at(-1)?.key;
  const key = jump?.key === LATEST ? last : jump?.key;
  return useMemo(() => (jump === undefined || key === undefined ? undefined : { key }), [jump, key]);
}

/** The rows determine which children are requested, and the loaded children determine the rows: one depth at a time. */
function useRows(timeline: InvocationTimeline, options: Omit<RowsOptions, "children">): readonly TimelineRow[] {
  const [childIds, setChildIds] = useState<readonly string[]>([]);
  const children = useChildren(childIds);
  const rows = rowsOf(timeline, { ...options, children });
  const now = unfoldedChildIds(rows);
  if (now.length !== childIds.length || now.some((id, index) => id !== childIds[index])) setChildIds(now);
  return rows;
}

function childAddress(row: TimelineRow): string {
  const page = `/invocations/${encodeURIComponent(row.invocationId)}`;
  return row.kind === "step" ? `${page}?step=${row.bar.index}` : page;
}

/** Phases and how long they lasted together: the numbers behind the colours. */
function Legend({ timeline }: { readonly timeline: InvocationTimeline }) {
  const total = timeline.span.toMs - timeline.span.fromMs;
  return (
    <ul className="tl-legend" aria-label="Time by phase">
      {timeline.sums.map(({ phase, ms, share }) => (
        <li key={phase}>
          <span className={`tl-legend__colour tl__bar--phase-${phase}`} aria-hidden="true" />
          {phaseLabel(phase)} <strong>{durationText(ms)}</strong> <span className="quiet">{percent(share)}</span>
        </li>
      ))}
      <li>
        {timeline.isDone ? "total" : "so far"} <strong>{durationText(total)}</strong>
      </li>
    </ul>
  );
}

function Remarks({ timeline, isCompact }: { readonly timeline: InvocationTimeline; readonly isCompact: boolean }) {
  const remarks = [
    timeline.isJournalPartial ? "The journal is incomplete: it was deleted, or is too long to be read." : undefined,
    timeline.areAttemptsMissing ? "Only the newest failed attempts are kept." : undefined,
    isCompact
      ? undefined
      : "Keys: arrows move and unfold, Enter chooses, + − 0 zoom, Shift with arrows moves in time. Or draw a range with the mouse.",
  ].filter((remark) => remark !== undefined);
  return remarks.length === 0 ? null : <p className="small quiet">{remarks.join(" ")}</p>;
}
