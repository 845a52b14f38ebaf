/**
 * The chart of a timeline: time from left to right, one row for each step. It is a tree to screen readers and the keyboard: rows have texts
 * with everything that the bars show. Long journals render only the visible rows.
 */
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type Ref, useEffect, useMemo, useRef, useState } from "react";
import { Breakable, durationText } from "../../kit/index.js";
import { keyAction, perform } from "./chart-keys.js";
import { ChartRow, FATES } from "./chart-row.js";
import { type Crash, fateOf } from "./crash-status.js";
import { type InvocationTimeline, lengthOf, type TimeSpan } from "./invocation-timeline.js";
import { AXIS_PX, OVERSCAN_ROWS } from "./limits.js";
import { placeOf, selected, type TimelineRow, ticksOf, zoomed } from "./timeline-layout.js";
import { barSpan, rowText } from "./timeline-row.js";
import { type DrawnBox, useDrag } from "./use-drag.js";
import { useNarrow } from "./use-narrow.js";

interface TimelineChartProps {
  readonly timeline: InvocationTimeline;
  readonly rows: readonly TimelineRow[];
  /** The visible range; undefined: everything. */
  readonly window: TimeSpan | undefined;
  readonly onWindow: (window: TimeSpan | undefined) => void;
  readonly onPan: (by: number) => void;
  readonly onToggle: (row: TimelineRow) => void;
  /** A step of the invocation itself, or a child's row, was chosen. */
  readonly onChoose: (row: TimelineRow) => void;
  /** Key of the row that is chosen. */
  readonly chosen: string | undefined;
  readonly crash?: Crash | undefined;
  readonly isCompact?: boolean | undefined;
  /** Steps of the invocation itself that are on its critical path. */
  readonly criticalSteps?: ReadonlySet<number> | undefined;
  /** A row to scroll to; another object each time. */
  readonly jump?: { readonly key: string } | undefined;
}

const ROW_PX = 30;
const NARROW_ROW_PX = 46;
const TICKS_MAX = 7;
const NARROW_TICKS_MAX = 4;

export function TimelineChart(props: TimelineChartProps) {
  const { timeline, rows, window: zoom, onWindow, onPan, onToggle, onChoose, chosen, isCompact, jump } = props;
  const window = zoom ?? timeline.span;
  const isNarrow = useNarrow();
  const container = useRef<HTMLDivElement>(null);
  const scale = useRef<HTMLDivElement>(null);
  const { virtual, active, focused, go } = useActiveRow(container, rows, isNarrow ? NARROW_ROW_PX : ROW_PX, jump);
  const [hovered, setHovered] = useState<string>();
  const items = virtual.getVirtualItems();
  const choose = (row: TimelineRow) => {
    if (row.kind === "attempts" || row.kind === "group") return onToggle(row);
    // The loaded steps take its place: the focus goes to the row before them.
    if (row.kind === "more" && row.depth === 0) go(active - 1);
    onChoose(row);
  };
  const zoomBy = (factor: number) => {
    const row = rows[active];
    const span = row === undefined ? undefined : barSpan(row);
    const place = span === undefined ? undefined : placeOf(span, window);
    onWindow(zoomed(zoom, timeline.span, factor, place === undefined ? 0.5 : (place.left + place.width / 2) / 100));
  };
  const onKey = (event: KeyboardEvent) => {
    const row = rows[active];
    const act = keyAction(event);
    if (act === undefined || row === undefined) return;
    event.preventDefault();
    perform(act, row, {
      by: (rowCount) => go(active + rowCount),
      toFirst: () => go(0),
      toLast: () => go(rows.length - 1),
      toParent: () => go(parentOf(rows, active)),
      toggle: () => onToggle(row),
      choose: () => choose(row),
      zoom: zoomBy,
      fit: () => onWindow(undefined),
      pan: onPan,
    });
  };

  const drag = useDrag(scale, (from, to) => {
    const range = selected(window, timeline.span, from, to);
    if (range !== undefined) onWindow(range);
    return range !== undefined;
  });
  const ticks = useMemo(
    () => ticksOf(window, timeline.span.fromMs, isNarrow ? NARROW_TICKS_MAX : TICKS_MAX),
    [window, timeline.span.fromMs, isNarrow],
  );
  const shown = rows.find(({ key }) => key === hovered) ?? rows[active];

  return (
    <div className={`tl${isCompact ? " tl--compact" : ""}`}>
      <div
        ref={container}
        className="tl__room"
        role="tree"
        aria-label={`What happened in ${timeline.target}`}
        onKeyDown={onKey}
        onPointerLeave={() => setHovered(undefined)}
        {...drag.handlers}
      >
        <Axis ticks={ticks} scale={scale} />
        <div className="tl__sizer" role="none" style={{ height: virtual.getTotalSize() }}>
          <Marks ticks={ticks} drawn={drag.range} />
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <ChartRow
                key={row.key}
                row={row}
                item={item}
                count={rows.length}
                {...factsOf(row, props)}
                window={window}
                isActive={item.index === active}
                isChosen={row.key === chosen}
                onFocus={() => focused(row.key)}
                onHover={() => setHovered(row.key)}
                onChoose={() => {
                  if (!drag.hasJustDrawn()) choose(row);
                }}
                onToggle={() => onToggle(row)}
              />
            );
          })}
        </div>
      </div>
      <p className="tl__exact small quiet" aria-hidden="true">
        {shown !== undefined && <Breakable text={exactText(shown, timeline)} />}
      </p>
    </div>
  );
}

/** How the row is marked, and its name for screen readers. */
function factsOf(row: TimelineRow, { timeline, crash, criticalSteps }: TimelineChartProps) {
  const step = row.kind === "step" && row.depth === 0 ? row.bar : undefined;
  const fate = crash !== undefined && step !== undefined ? fateOf(step, crash, timeline) : undefined;
  const isCritical = step !== undefined && criticalSteps?.has(step.index) === true;
  const remarks = `${fate === undefined ? "" : FATES[fate]}${isCritical ? ", on the critical path" : ""}`;
  return { fate, isCritical, text: `${rowText(row, timeline)}${remarks}` };
}

/** The row that has the focus, or gets it with Tab. `jump` makes another one active and scrolls to it. */
function useActiveRow(
  container: { readonly current: HTMLDivElement | null },
  rows: readonly TimelineRow[],
  rowPx: number,
  jump: TimelineChartProps["jump"],
) {
  const [activeKey, setActiveKey] = useState<string>();
  const active = Math.max(
    0,
    rows.findIndex(({ key }) => key === activeKey),
  );
  const virtual = useVirtualRows(container, rows, active, rowPx);
  // The key, not just that the active row should get the focus: an effect of an earlier drawing may run after `go`, with the row before.
  const focusKey = useRef<string>(undefined);
  useEffect(() => {
    if (focusKey.current === undefined || rows[active]?.key !== focusKey.current) return;
    const element = container.current?.querySelector<HTMLElement>(`[data-at="${active}"]`);
    if (element === null || element === undefined) return;
    focusKey.current = undefined;
    element.focus();
  });

  const go = (index: number) => {
    const at = Math.min(rows.length - 1, Math.max(0, index));
    focusKey.current = rows[at]?.key;
    setActiveKey(rows[at]?.key);
    virtual.scrollToIndex(at);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each jump, also when its row comes later
  useEffect(() => {
    const at = rows.findIndex(({ key }) => key === jump?.key);
    if (jump === undefined || at < 0) return;
    setActiveKey(jump.key);
    virtual.scrollToIndex(at, { align: "center" });
  }, [jump, rows.length]);
  const focused = (key: string) => {
    focusKey.current = undefined;
    setActiveKey(key);
  };
  return { virtual, active, focused, go };
}

function useVirtualRows(
  container: { readonly current: HTMLDivElement | null },
  rows: readonly TimelineRow[],
  active: number,
  rowPx: number,
) {
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => container.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN_ROWS,
    // The row that has the focus, or gets it with Tab, is always there.
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), active])].sort((a, b) => a - b),
    scrollMargin: AXIS_PX,
    scrollPaddingStart: AXIS_PX,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: measured again when rows get another height
  useEffect(() => virtual.measure(), [rowPx]);
  return virtual;
}

type Tick = ReturnType<typeof ticksOf>[number];

interface AxisProps {
  readonly ticks: readonly Tick[];
  readonly scale: Ref<HTMLDivElement>;
}

function Axis({ ticks, scale }: AxisProps) {
  return (
    <div className="tl__axis" aria-hidden="true">
      <div className="tl__corner">since it was created</div>
      <div className="tl__scale" ref={scale}>
        {ticks.map(({ offsetMs, left }) => (
          <span key={offsetMs} className={`tl__tick${left > 92 ? " tl__tick--last" : ""}`} style={{ left: `${left}%` }}>
            {offsetMs === 0 ? "0" : durationText(offsetMs)}
          </span>
        ))}
      </div>
    </div>
  );
}

interface MarksProps {
  readonly ticks: readonly Tick[];
  readonly drawn: DrawnBox | undefined;
}

function Marks({ ticks, drawn }: MarksProps) {
  return (
    <div className="tl__marks" role="none">
      {ticks.map(({ offsetMs, left }) => (
        <span key={offsetMs} className="tl__line" style={{ left: `${left}%` }} />
      ))}
      {drawn !== undefined && (
        <span className="tl__drawn" style={{ left: `${drawn.left * 100}%`, width: `${drawn.width * 100}%` }} />
      )}
    </div>
  );
}

function exactText(row: TimelineRow, timeline: InvocationTimeline): string {
  const span = barSpan(row);
  const text = rowText(row, timeline);
  if (span === undefined) return text;
  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 23);
  return `${text} · from +${durationText(span.fromMs - timeline.span.fromMs)} · ${clock(span.fromMs)} – ${clock(span.toMs)} UTC${
    lengthOf(span) === 0 ? "" : ` · ${Math.round(lengthOf(span))} ms`
  }`;
}

function parentOf(rows: readonly TimelineRow[], index: number): number {
  const depth = rows[index]?.depth ?? 0;
  for (let at = index - 1; at >= 0; at--) if ((rows[at]?.depth ?? 0) < depth) return at;
  return 0;
}
