/**
 * The chart of a timeline: time from left to right, one row for each step. It is a tree to screen readers and the keyboard: rows have texts
 * with everything that the bars show. Long journals render only the visible rows.
 */
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import { Breakable, durationText } from "../../kit/index.js";
import { type Crash, fateOf } from "./crash-status.js";
import { type InvocationTimeline, lengthOf, type TimeSpan } from "./invocation-timeline.js";
import { OVERSCAN_ROWS } from "./limits.js";
import { placeOf, selected, type TimelineRow, ticksOf, zoomed } from "./timeline-layout.js";
import { Bars, barSpan, RowName, rowText } from "./timeline-row.js";
import { useNarrow } from "./use-narrow.js";

export interface TimelineChartProps {
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
  /** A row to scroll to; another object each time. */
  readonly jump?: { readonly key: string } | undefined;
}

/** The axis stays visible above the rows; the same height as in `timeline.css`. */
const AXIS_PX = 28;
const ROW_PX = 30;
const NARROW_ROW_PX = 46;
const TICKS_MAX = 7;
const NARROW_TICKS_MAX = 4;
const ZOOM_STEP = 0.5;

export function TimelineChart(props: TimelineChartProps) {
  const { timeline, rows, window: zoom, onWindow, onPan, onToggle, onChoose, chosen, crash, isCompact, jump } = props;
  const window = zoom ?? timeline.span;
  const isNarrow = useNarrow();
  const container = useRef<HTMLDivElement>(null);
  const scale = useRef<HTMLDivElement>(null);
  const rowPx = isNarrow ? NARROW_ROW_PX : ROW_PX;
  const [activeKey, setActiveKey] = useState<string>();
  const [hovered, setHovered] = useState<string>();
  const active = Math.max(
    0,
    rows.findIndex(({ key }) => key === activeKey),
  );
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

  const shouldFocus = useRef(false);
  const items = virtual.getVirtualItems();
  useEffect(() => {
    if (!shouldFocus.current) return;
    const element = container.current?.querySelector<HTMLElement>(`[data-at="${active}"]`);
    if (element === null || element === undefined) return;
    shouldFocus.current = false;
    element.focus();
  });

  const go = (index: number) => {
    const at = Math.min(rows.length - 1, Math.max(0, index));
    shouldFocus.current = true;
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
    const isOpen = row === undefined ? undefined : unfoldedOf(row);
    const act = keyAction(event);
    if (act === undefined || row === undefined) return;
    event.preventDefault();
    switch (act) {
      case "down":
        return go(active + 1);
      case "up":
        return go(active - 1);
      case "pageDown":
        return go(active + 10);
      case "pageUp":
        return go(active - 10);
      case "first":
        return go(0);
      case "last":
        return go(rows.length - 1);
      case "right":
        if (isOpen === false) return onToggle(row);
        return isOpen === true ? go(active + 1) : undefined;
      case "left":
        if (isOpen === true) return onToggle(row);
        return row.depth > 0 ? go(parentOf(rows, active)) : undefined;
      case "choose":
        return choose(row);
      case "in":
        return zoomBy(ZOOM_STEP);
      case "out":
        return zoomBy(1 / ZOOM_STEP);
      case "fit":
        return onWindow(undefined);
      case "panLeft":
        return onPan(-0.25);
      case "panRight":
        return onPan(0.25);
    }
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
        <div className="tl__sizer" role="none" style={{ height: virtual.getTotalSize() }}>
          <div className="tl__marks" role="none">
            {ticks.map(({ offsetMs, left }) => (
              <span key={offsetMs} className="tl__line" style={{ left: `${left}%` }} />
            ))}
            {drag.range !== undefined && (
              <span className="tl__drawn" style={{ left: `${drag.range.left * 100}%`, width: `${drag.range.width * 100}%` }} />
            )}
          </div>
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const fate =
              crash !== undefined && row.kind === "step" && row.depth === 0 ? fateOf(row.bar, crash, timeline) : undefined;
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
              <div
                key={row.key}
                role="treeitem"
                data-at={item.index}
                aria-level={row.depth + 1}
                aria-posinset={item.index + 1}
                aria-setsize={rows.length}
                aria-expanded={unfoldedOf(row)}
                aria-selected={row.key === chosen}
                tabIndex={item.index === active ? 0 : -1}
                className={`tl__row tl__row--${row.kind}${fate === undefined ? "" : ` tl__row--${fate}`}`}
                style={{ height: item.size, transform: `translateY(${item.start - AXIS_PX}px)` }}
                onFocus={() => setActiveKey(row.key)}
                onPointerEnter={() => setHovered(row.key)}
                onClick={() => {
                  if (!drag.hasJustDrawn()) choose(row);
                }}
              >
                {/* The name of the row; the rest is hidden from screen readers. */}
                <span className="visually-hidden">{`${rowText(row, timeline)}${fate === undefined ? "" : FATES[fate]}`}</span>
                <RowName row={row} fate={fate} onToggle={unfoldedOf(row) === undefined ? undefined : () => onToggle(row)} />
                <Bars row={row} window={window} />
              </div>
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

const FATES = { replayed: ", replayed, not run again", rerun: ", interrupted, run again" } as const;

function exactText(row: TimelineRow, timeline: InvocationTimeline): string {
  const span = barSpan(row);
  const text = rowText(row, timeline);
  if (span === undefined) return text;
  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 23);
  return `${text} · from +${durationText(span.fromMs - timeline.span.fromMs)} · ${clock(span.fromMs)} – ${clock(span.toMs)} UTC${
    lengthOf(span) === 0 ? "" : ` · ${Math.round(lengthOf(span))} ms`
  }`;
}

/** Undefined: there is nothing in it. */
function unfoldedOf(row: TimelineRow): boolean | undefined {
  if (row.kind === "attempts" || row.kind === "group") return row.isUnfolded;
  return row.kind === "step" && row.childId !== undefined ? row.isUnfolded : undefined;
}

function parentOf(rows: readonly TimelineRow[], index: number): number {
  const depth = rows[index]?.depth ?? 0;
  for (let at = index - 1; at >= 0; at--) if ((rows[at]?.depth ?? 0) < depth) return at;
  return 0;
}

type KeyAction =
  | "down"
  | "up"
  | "left"
  | "right"
  | "first"
  | "last"
  | "pageUp"
  | "pageDown"
  | "choose"
  | "in"
  | "out"
  | "fit"
  | "panLeft"
  | "panRight";

const KEYS: Readonly<Record<string, KeyAction>> = {
  ArrowDown: "down",
  ArrowUp: "up",
  ArrowLeft: "left",
  ArrowRight: "right",
  Home: "first",
  End: "last",
  PageUp: "pageUp",
  PageDown: "pageDown",
  Enter: "choose",
  " ": "choose",
  "+": "in",
  "=": "in",
  "-": "out",
  "0": "fit",
};

function keyAction({ key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent): KeyAction | undefined {
  if (ctrlKey || metaKey || altKey) return undefined;
  if (shiftKey && key === "ArrowLeft") return "panLeft";
  if (shiftKey && key === "ArrowRight") return "panRight";
  return KEYS[key];
}

interface DrawnBox {
  readonly left: number;
  readonly width: number;
}

/**
 * A mouse draws a range over the lanes; fingers scroll. `onRange` gets both ends as parts of the scale, and returns whether the range was
 * accepted.
 */
function useDrag(scale: { readonly current: HTMLElement | null }, onRange: (from: number, to: number) => boolean) {
  const [range, setRange] = useState<DrawnBox>();
  const start = useRef<number>(undefined);
  const justDrawn = useRef(false);
  const partOf = (event: PointerEvent): number | undefined => {
    const box = scale.current?.getBoundingClientRect();
    return box === undefined || box.width === 0 ? undefined : (event.clientX - box.left) / box.width;
  };
  return {
    range,
    hasJustDrawn: () => justDrawn.current,
    handlers: {
      onPointerDown: (event: PointerEvent) => {
        justDrawn.current = false;
        const at = partOf(event);
        if (event.pointerType === "touch" || event.button !== 0 || at === undefined || at < 0 || at > 1) return;
        start.current = at;
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => {
        const at = partOf(event);
        if (start.current === undefined || at === undefined) return;
        if (Math.abs(at - start.current) > 0.005) event.currentTarget.setPointerCapture(event.pointerId);
        const [from, to] = [Math.min(start.current, at), Math.max(start.current, at)].map((part) =>
          Math.min(1, Math.max(0, part)),
        ) as [number, number];
        setRange({ left: from, width: to - from });
      },
      onPointerUp: (event: PointerEvent) => {
        const at = partOf(event);
        if (start.current !== undefined && at !== undefined) justDrawn.current = onRange(start.current, at);
        start.current = undefined;
        setRange(undefined);
      },
      onPointerCancel: () => {
        start.current = undefined;
        setRange(undefined);
      },
    },
  };
}
