/** One row of the chart of a timeline. */
import type { VirtualItem } from "@tanstack/react-virtual";
import { unfoldedOf } from "./chart-keys.js";
import type { TimeSpan } from "./invocation-timeline.js";
import { AXIS_PX } from "./limits.js";
import type { TimelineRow } from "./timeline-layout.js";
import { Bars, RowName } from "./timeline-row.js";

interface ChartRowProps {
  readonly row: TimelineRow;
  readonly item: VirtualItem;
  /** Number of all rows. */
  readonly count: number;
  readonly fate: keyof typeof FATES | undefined;
  /** The name of the row for screen readers. */
  readonly text: string;
  readonly window: TimeSpan;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  /** On the critical path. */
  readonly isCritical: boolean;
  readonly onFocus: () => void;
  readonly onHover: () => void;
  readonly onChoose: () => void;
  readonly onToggle: () => void;
}

export function ChartRow(props: ChartRowProps) {
  const { row, item, count, fate, text, window, isActive, isChosen, isCritical, onFocus, onHover, onChoose, onToggle } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    <div
      role="treeitem"
      data-at={item.index}
      aria-level={row.depth + 1}
      aria-posinset={item.index + 1}
      aria-setsize={count}
      aria-expanded={unfoldedOf(row)}
      aria-selected={isChosen}
      tabIndex={isActive ? 0 : -1}
      className={`tl__row tl__row--${row.kind}${fate === undefined ? "" : ` tl__row--${fate}`}${isCritical ? " tl__row--critical" : ""}`}
      style={{ height: item.size, transform: `translateY(${item.start - AXIS_PX}px)` }}
      onFocus={onFocus}
      onPointerEnter={onHover}
      onClick={onChoose}
    >
      {/* The name of the row; the rest is hidden from screen readers. */}
      <span className="visually-hidden">{text}</span>
      <RowName row={row} fate={fate} onToggle={unfoldedOf(row) === undefined ? undefined : onToggle} />
      <Bars row={row} window={window} />
    </div>
  );
}

export const FATES = { replayed: ", replayed, not run again", rerun: ", interrupted, run again" } as const;
