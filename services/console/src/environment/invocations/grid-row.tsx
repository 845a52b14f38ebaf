// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and marks which row is active
// biome-ignore-all lint/a11y/useSemanticElements: a table cannot leave out rows that are not visible
/** One row of the list; as cheap as possible, because rows are mounted and unmounted sixty times a second. */
import { type CSSProperties, memo, type ReactNode } from "react";
import { Link } from "wouter";
import { ago, durationText, exactMoment, InvocationBadge, shortId } from "../../kit/index.js";
import type { InvocationListColumn } from "./columns.js";
import { firstLine, type InvocationListRow, targetOf, tookMs } from "./row.js";

interface GridRowProps {
  readonly id: string;
  readonly index: number;
  readonly topPx: number;
  /** undefined: not loaded yet; null: deleted. */
  readonly row: InvocationListRow | null | undefined;
  readonly columns: readonly InvocationListColumn[];
  /** Widths of the columns; undefined: it is a card. */
  readonly tracks: string | undefined;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly nowMs: number;
}

export const GridRow = memo(function GridRow({
  id,
  index,
  topPx,
  row,
  columns,
  tracks,
  isActive,
  isSelected,
  nowMs,
}: GridRowProps) {
  const style: CSSProperties = { transform: `translateY(${topPx}px)`, gridTemplateColumns: tracks };
  return (
    <div
      role="row"
      id={rowElementId(id)}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-index={index}
      className={`runs__row${isActive ? " runs__row--active" : ""}`}
      style={style}
    >
      <div
        role="gridcell"
        className="runs__cell runs__cell--select"
        data-select=""
        aria-label={isSelected ? "selected" : "not selected"}
      >
        <span className={`runs__box${isSelected ? " runs__box--on" : ""}`} aria-hidden="true" />
      </div>
      {columns.map(({ name }) => (
        <div role="gridcell" key={name} className={`runs__cell runs__cell--${name}`}>
          {cellOf(name, id, row, nowMs)}
        </div>
      ))}
    </div>
  );
});

export function rowElementId(id: string): string {
  return `run-${id}`;
}

function cellOf(name: string, id: string, row: InvocationListRow | null | undefined, nowMs: number): ReactNode {
  if (row === null) {
    if (name === "target") return <span className="quiet">deleted: {shortId(id)}</span>;
    return name === "id" ? <code>{shortId(id)}</code> : null;
  }
  if (row === undefined) return <span className="runs__ghost" />;
  switch (name) {
    case "status":
      return <InvocationBadge status={row.status} result={row.result} failure={row.failure} />;
    case "target":
      return (
        <Link href={`/invocations/${encodeURIComponent(id)}`} tabIndex={-1} title={targetOf(row)}>
          {targetOf(row)}
        </Link>
      );
    case "id":
      return <code title={id}>{shortId(id)}</code>;
    case "created":
      return <span title={exactMoment(row.createdMs)}>{ago(row.createdMs, nowMs)}</span>;
    case "modified":
      return row.modifiedMs === undefined ? null : <span title={exactMoment(row.modifiedMs)}>{ago(row.modifiedMs, nowMs)}</span>;
    case "took":
      return durationText(tookMs(row, nowMs));
    case "attempts":
      return row.retries === 0 ? <span className="quiet">0</span> : row.retries;
    case "failure":
      return row.failure === undefined ? null : <span title={row.failure}>{firstLine(row.failure)}</span>;
    case "deployment":
      return row.deployment === undefined ? null : <code title={row.deployment}>{shortId(row.deployment)}</code>;
    case "idempotency":
      return row.idempotencyKey === undefined ? null : <code title={row.idempotencyKey}>{row.idempotencyKey}</code>;
    case "caller":
      return row.invokedBy === undefined ? null : <span title={row.invokedById}>{row.invokedBy}</span>;
    case "scope":
      return row.scope === undefined ? null : <code>{row.scope}</code>;
    default:
      return null;
  }
}
