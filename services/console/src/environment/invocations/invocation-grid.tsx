// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and marks which row is active
// biome-ignore-all lint/a11y/useSemanticElements: a table cannot leave out rows that are not visible
/**
 * A list of any length, of which only the visible rows are rendered. Rows have one height and a position by their number, so the scrollbar
 * is right from the start and nothing is measured. To screen readers it is a grid of so many rows, with one of them active.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useLocation } from "wouter";
import { useNow } from "../../kit/index.js";
import { type InvocationListColumn, listColumns } from "./columns.js";
import { GridRow, rowElementId } from "./grid-row.js";
import { moveOf } from "./keys.js";
import { isSelected, type ListSelection, toggled, withRange } from "./selection.js";
import { useCompactRows } from "./use-compact.js";
import type { VisibleRows } from "./use-rows.js";

const ROW_PX = 36;
const COMPACT_ROW_PX = 28;
/** Two lines. */
const CARD_PX = 64;
const CARD_COLUMNS = listColumns(["id", "created", "took"]);
const NARROW = "(max-width: 48rem)";
/** Rows drawn out of sight, so that a turn of the wheel finds them there. */
const OVERSCAN = 8;

/** Elements for rows come in steps of so many: as many as a usual window draws. */
const POOL = 64;

export interface GridHandle {
  /** Translates a key of the page into one of the grid. */
  readonly press: (key: string, isShift: boolean) => boolean;
  readonly toTop: () => void;
}

interface InvocationGridProps {
  readonly ids: readonly string[];
  /** All ids are there. */
  readonly isWhole: boolean;
  /** The rows are of the earlier condition; those of the current one are being requested. */
  readonly isOld: boolean;
  readonly rows: VisibleRows;
  readonly columns: readonly InvocationListColumn[];
  readonly selection: ListSelection;
  readonly onSelect: (selection: ListSelection) => void;
  /** The number of the last visible row. */
  readonly onReach: (index: number) => void;
  /** Whether the user reads at a position that must not move. */
  readonly onEngaged: (isEngaged: boolean) => void;
  readonly ref: Ref<GridHandle>;
}

export function InvocationGrid(props: InvocationGridProps) {
  const { ids, isWhole, isOld, rows, selection, onSelect, onEngaged, onReach, ref } = props;
  const [, go] = useLocation();
  const nowMs = useNow();
  const isNarrow = useIsNarrow();
  const container = useRef<HTMLDivElement>(null);
  const anchor = useRef(0);
  const [active, setActive] = useState<ActiveRow>();
  const columns = isNarrow ? CARD_COLUMNS : props.columns;
  const isCompact = useCompactRows();
  const rowPx = isNarrow ? CARD_PX : isCompact ? COMPACT_ROW_PX : ROW_PX;
  const virtualizer = useVirtualRows(container, ids, rowPx);
  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? -1;
  const { see } = rows;
  useEffect(() => see(ids, first, last), [see, ids, first, last]);
  useEffect(() => onReach(last), [onReach, last]);

  const activeAt = useMemo(() => (active === undefined ? -1 : indexOf(active, ids)), [active, ids]);
  const isAtTop = (virtualizer.scrollOffset ?? 0) < rowPx;
  const isEngaged = !isAtTop || activeAt > 0;
  useEffect(() => onEngaged(isEngaged), [onEngaged, isEngaged]);

  const activate = (index: number) => {
    const id = ids[index];
    if (id === undefined) return;
    setActive({ id, index });
    virtualizer.scrollToIndex(index);
  };
  const select = (index: number, isRange: boolean) => {
    const id = ids[index];
    if (id === undefined) return;
    onSelect(isRange ? withRange(selection, ids, anchor.current, index) : toggled(selection, id, ids));
    anchor.current = index;
  };
  const press = (key: string, isShift: boolean): boolean => {
    const page = Math.max(1, Math.floor((container.current?.clientHeight ?? 0) / rowPx) - 2);
    const to = moveOf(key, activeAt, ids.length, page);
    if (to !== undefined) activate(to);
    else if (key === "Enter" && activeAt >= 0) go(`/invocations/${encodeURIComponent(ids[activeAt] ?? "")}`);
    else if ((key === "x" || key === "X" || key === " ") && activeAt >= 0) select(activeAt, isShift);
    else return false;
    return true;
  };
  useImperativeHandle(ref, () => ({
    press: (key, isShift) => {
      container.current?.focus({ preventScroll: true });
      return press(key, isShift);
    },
    toTop: () => {
      setActive(undefined);
      virtualizer.scrollToOffset(0);
    },
  }));
  const onKeyDown = (event: KeyboardEvent) => pressed(event, press);
  const onClick = (event: MouseEvent) => {
    const clicked = clickOn(event, ids);
    if (clicked === undefined) return;
    const { id, index } = clicked;
    if (clicked.kind === "open") return go(`/invocations/${encodeURIComponent(id)}`);
    setActive({ id, index });
    if (clicked.kind === "select") select(index, event.shiftKey);
  };

  const template = isNarrow ? undefined : `2.25rem ${columns.map(({ width }) => width).join(" ")}`;
  const tracks: CSSProperties = template === undefined ? {} : { gridTemplateColumns: template };
  // Elements are used again for the rows that come: making them anew takes longer than all else.
  const pool = Math.ceil(items.length / POOL) * POOL;
  const isActiveDrawn = activeAt >= first && activeAt <= last;
  return (
    <div
      ref={container}
      role="grid"
      tabIndex={0}
      aria-label="Invocations"
      aria-rowcount={isWhole ? ids.length + 1 : -1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      aria-busy={isOld}
      aria-activedescendant={isActiveDrawn ? rowElementId(ids[activeAt] ?? "") : undefined}
      className={`runs${isNarrow ? " runs--cards" : ""}`}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      <GridHead columns={columns} tracks={tracks} />
      <div role="rowgroup" className="runs__body" style={{ height: virtualizer.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const id = ids[index] ?? "";
          const shown = { id, index, topPx: start, isActive: index === activeAt, isSelected: isSelected(selection, id), nowMs };
          return <GridRow key={index % pool} {...shown} row={rows.get(id)} columns={columns} tracks={template} />;
        })}
      </div>
    </div>
  );
}

interface ActiveRow {
  readonly id: string;
  /** Index in the list in which the row became active; rows above it may have come since. */
  readonly index: number;
}

function indexOf({ id, index }: ActiveRow, ids: readonly string[]): number {
  return ids[index] === id ? index : ids.indexOf(id);
}

function pressed(event: KeyboardEvent, press: GridHandle["press"]): void {
  // Shortcuts of one letter or two belong to the page, unless they are the second of a shortcut to another page; Space selects without them.
  if (event.ctrlKey || event.metaKey || event.altKey || /^[a-z]$/i.test(event.key)) return;
  if (!press(event.key, event.shiftKey)) return;
  event.preventDefault();
  event.stopPropagation();
}

interface RowClick {
  readonly kind: "open" | "select" | "activate";
  readonly id: string;
  readonly index: number;
}

/** Undefined: on no row, or on a link, which works by itself. */
function clickOn(event: MouseEvent, ids: readonly string[]): RowClick | undefined {
  const { target } = event;
  if (!(target instanceof Element)) return undefined;
  const index = Number(target.closest("[data-index]")?.getAttribute("data-index") ?? Number.NaN);
  const id = ids[index];
  if (id === undefined || target.closest("a") !== null) return undefined;
  if (target.closest("[data-select]") !== null) return { kind: "select", id, index };
  // A user who selects text does not want to leave the page.
  const staysHere = event.ctrlKey || event.metaKey || event.shiftKey || String(getSelection()) !== "";
  return { kind: staysHere ? "activate" : "open", id, index };
}

interface GridHeadProps {
  readonly columns: readonly InvocationListColumn[];
  readonly tracks: CSSProperties;
}

function GridHead({ columns, tracks }: GridHeadProps) {
  return (
    <div role="row" aria-rowindex={1} className="runs__head" style={tracks}>
      <div role="columnheader" className="runs__cell">
        <span className="visually-hidden">Selected</span>
      </div>
      {columns.map(({ name, label }) => (
        <div role="columnheader" key={name} className={`runs__cell runs__cell--${name}`}>
          {label}
        </div>
      ))}
    </div>
  );
}

function useVirtualRows(container: { readonly current: HTMLDivElement | null }, ids: readonly string[], rowPx: number) {
  const virtualizer = useVirtualizer({
    count: ids.length,
    getScrollElement: () => container.current,
    estimateSize: useCallback(() => rowPx, [rowPx]),
    // The same function while the list is the same: with a new one all rows would be counted again.
    getItemKey: useCallback((index: number) => ids[index] ?? index, [ids]),
    overscan: OVERSCAN,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height has changed for all
  useEffect(() => virtualizer.measure(), [rowPx]);
  return virtualizer;
}

function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(NARROW);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(NARROW).matches,
  );
}
