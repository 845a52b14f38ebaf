/** Navigation in a long timeline: the mouse draws a range of time, or moves the window; keys do the same in the chart below. */
import { type PointerEvent, useMemo, useRef } from "react";
import { type InvocationTimeline, lengthOf, type TimeSpan } from "./invocation-timeline.js";
import { centredAt, minimapBars } from "./minimap-layout.js";
import { placeOf, selected } from "./timeline-layout.js";

interface MinimapProps {
  readonly timeline: InvocationTimeline;
  /** The range that the chart shows; undefined: everything. */
  readonly window: TimeSpan | undefined;
  readonly onWindow: (window: TimeSpan | undefined) => void;
}

export function Minimap({ timeline, window, onWindow }: MinimapProps) {
  const { span } = timeline;
  const bars = useMemo(() => minimapBars(timeline), [timeline]);
  /** Place where the pointer was pressed, and the window that it moves; undefined: it draws a range. */
  const grip = useRef<{ readonly part: number; readonly moved: TimeSpan | undefined }>(undefined);
  const place = window === undefined ? undefined : placeOf(window, span);
  const partOf = (event: PointerEvent<HTMLElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return box.width === 0 ? 0 : Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const onDown = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const part = partOf(event);
    const isInside = place !== undefined && part * 100 >= place.left && part * 100 <= place.left + place.width;
    grip.current = { part, moved: isInside ? window : undefined };
  };
  const onMove = (event: PointerEvent<HTMLElement>) => {
    if (grip.current === undefined) return;
    const { part, moved } = grip.current;
    if (moved === undefined) {
      const range = selected(span, span, part, partOf(event));
      if (range !== undefined) onWindow(range);
    } else {
      const middle = (moved.fromMs + lengthOf(moved) / 2 - span.fromMs) / Math.max(1, lengthOf(span));
      onWindow(centredAt(moved, span, middle + partOf(event) - part));
    }
  };
  return (
    <div
      className="tl-map"
      aria-hidden="true"
      onPointerDown={onDown}
      onPointerMove={onMove}
      onPointerUp={() => {
        grip.current = undefined;
      }}
      onPointerCancel={() => {
        grip.current = undefined;
      }}
    >
      <svg className="tl-map__drawing" viewBox={`0 0 ${bars.length} 1`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ height, hasFailure }, i) =>
          height === 0 ? null : (
            <rect
              // Bars have no name but their place.
              // biome-ignore lint/suspicious/noArrayIndexKey: see above
              key={i}
              className={hasFailure ? "tl-map__bar tl-map__bar--failed" : "tl-map__bar"}
              x={i}
              width={0.8}
              y={1 - Math.max(0.12, height)}
              height={Math.max(0.12, height)}
            />
          ),
        )}
      </svg>
      {place !== undefined && <span className="tl-map__window" style={{ left: `${place.left}%`, width: `${place.width}%` }} />}
    </div>
  );
}
