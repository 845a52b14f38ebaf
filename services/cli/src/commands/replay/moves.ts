/** Moves of the step debugger, as keys or words, and where they lead. */

export type ReplayMove = "forward" | "back" | "again" | "end" | "quit" | { readonly entry: number };

/** The number of commands to replay after a move: the Input at least, all at most. */
export function moved(position: number, move: ReplayMove, entries: readonly number[]): number {
  const most = entries.length;
  switch (move) {
    case "forward":
      return Math.min(position + 1, most);
    case "back":
      return Math.max(position - 1, 1);
    case "end":
      return most;
    case "again":
    case "quit":
      return position;
    default:
      return Math.max(1, entries.filter((index) => index <= move.entry).length);
  }
}

const MOVES: ReadonlyMap<string, ReplayMove> = new Map([
  ...["n", "right", "return", "space", "down", "forward", ""].map((key) => [key, "forward"] as const),
  ...["b", "left", "up", "back"].map((key) => [key, "back"] as const),
  ...["e", "end"].map((key) => [key, "end"] as const),
  ...["r", "again"].map((key) => [key, "again"] as const),
  ...["q", "escape", "quit"].map((key) => [key, "quit"] as const),
]);

export function parseMove(text: string): ReplayMove | undefined {
  const word = text.trim().toLowerCase();
  return /^\d{1,8}$/.test(word) ? { entry: Number(word) } : MOVES.get(word);
}
