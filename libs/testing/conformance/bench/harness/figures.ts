/** Small things that every measurement does with its numbers. */

export const median = (numbers: readonly number[]): number => percentile(numbers, 0.5);

/** `share`: 0.99 for p99. NaN of an empty list. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const perInvocationUs = (seconds: number, count: number): number => (seconds / count) * 1e6;

export const yes = (isMet: boolean): string => (isMet ? "yes" : "**no**");

export const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** Share of all processors that other processes may use before a figure is marked. */
const QUIET_SHARE_MAX = 0.05;

export const isQuiet = (othersShare: number): boolean => othersShare <= QUIET_SHARE_MAX;

/** A table in Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
