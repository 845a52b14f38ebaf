/** Keys of the chart of a timeline, and what each does. */
import type { KeyboardEvent } from "react";
import type { TimelineRow } from "./timeline-layout.js";

const ZOOM_STEP = 0.5;
const PAN_STEP = 0.25;
/** Rows that a key for a page moves by. */
const PAGE_ROWS = 10;

/** Undefined: there is nothing in it. */
export function unfoldedOf(row: TimelineRow): boolean | undefined {
  if (row.kind === "attempts" || row.kind === "group") return row.isUnfolded;
  return row.kind === "step" && row.childId !== undefined ? row.isUnfolded : undefined;
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

export function keyAction({ key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent): KeyAction | undefined {
  if (ctrlKey || metaKey || altKey) return undefined;
  if (shiftKey && key === "ArrowLeft") return "panLeft";
  if (shiftKey && key === "ArrowRight") return "panRight";
  return KEYS[key];
}

/** Moves that keys make in the chart. */
interface ChartMoves {
  readonly by: (rowCount: number) => void;
  readonly toFirst: () => void;
  readonly toLast: () => void;
  readonly toParent: () => void;
  readonly toggle: () => void;
  readonly choose: () => void;
  readonly zoom: (factor: number) => void;
  readonly fit: () => void;
  /** `by`: a part of the visible range. */
  readonly pan: (by: number) => void;
}

export function perform(action: KeyAction, row: TimelineRow, moves: ChartMoves): void {
  const isOpen = unfoldedOf(row);
  switch (action) {
    case "down":
      return moves.by(1);
    case "up":
      return moves.by(-1);
    case "pageDown":
      return moves.by(PAGE_ROWS);
    case "pageUp":
      return moves.by(-PAGE_ROWS);
    case "first":
      return moves.toFirst();
    case "last":
      return moves.toLast();
    case "right":
      if (isOpen === false) return moves.toggle();
      return isOpen === true ? moves.by(1) : undefined;
    case "left":
      if (isOpen === true) return moves.toggle();
      return row.depth > 0 ? moves.toParent() : undefined;
    case "choose":
      return moves.choose();
    case "in":
      return moves.zoom(ZOOM_STEP);
    case "out":
      return moves.zoom(1 / ZOOM_STEP);
    case "fit":
      return moves.fit();
    case "panLeft":
      return moves.pan(-PAN_STEP);
    case "panRight":
      return moves.pan(PAN_STEP);
  }
}
