/** Differences of two texts, line by line, with the lines around each. Pure. */

export type DiffLine =
  | { readonly kind: "same" | "added" | "removed"; readonly text: string }
  /** Lines that both texts have and that are far from a difference. */
  | { readonly kind: "skipped"; readonly count: number };

/** Unchanged lines that are shown before and after a difference. */
const CONTEXT_LINES = 3;
/** Pairs of lines that are compared; texts that need more are shown as all removed and all added. 4 M take some 20 ms and 16 MiB. */
const PAIRS_MAX = 4_000_000;

/** Empty when the texts are equal. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  if (before === after) return [];
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return folded([
    ...now.slice(0, head).map(same),
    ...changedLines(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...now.slice(now.length - tail).map(same),
  ]);
}

const linesOf = (text: string): readonly string[] => (text === "" ? [] : text.split("\n"));

/** By the longest common subsequence. */
function changedLines(old: readonly string[], now: readonly string[]): readonly DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (old.length * now.length > PAIRS_MAX) return [...old.map(removed), ...now.map(added)];
  const lengths = commonLengths(old, now);
  const width = now.length + 1;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < now.length) {
    const [left = "", right = ""] = [old[i], now[j]];
    if (left === right) {
      lines.push({ kind: "same", text: right });
      i++;
      j++;
    } else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) {
      lines.push(removed(left));
      i++;
    } else {
      lines.push(added(right));
      j++;
    }
  }
  return [...lines, ...old.slice(i).map(removed), ...now.slice(j).map(added)];
}

/** At `i * (now.length + 1) + j`: how many lines `old` from `i` and `now` from `j` have in common. */
function commonLengths(old: readonly string[], now: readonly string[]): Uint32Array {
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const [below = 0, beside = 0, both = 0] = [
        lengths[(i + 1) * width + j],
        lengths[i * width + j + 1],
        lengths[(i + 1) * width + j + 1],
      ];
      lengths[i * width + j] = old[i] === now[j] ? both + 1 : Math.max(below, beside);
    }
  }
  return lengths;
}

/** Replaces unchanged lines that are far from a difference by their number. */
function folded(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = new Uint8Array(lines.length);
  for (const [at, { kind }] of lines.entries())
    if (kind !== "same") isNear.fill(1, Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1);
  const shown: DiffLine[] = [];
  for (const [at, line] of lines.entries()) {
    const last = shown.at(-1);
    if (isNear[at] === 1) shown.push(line);
    else if (last?.kind === "skipped") shown[shown.length - 1] = { kind: "skipped", count: last.count + 1 };
    else shown.push({ kind: "skipped", count: 1 });
  }
  return shown;
}
