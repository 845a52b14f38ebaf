/** Moments and durations as text. Pure. */

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** `840 µs`, `12 ms`, `1.24 s`, `30 s`, `3 min 5 s`, `2 d 4 h`: two units at most. */
export function durationText(ms: number): string {
  if (ms < 0) return `−${durationText(-ms)}`;
  if (ms > 0 && ms < 1) return `${Math.round(ms * 1_000)} µs`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${ms % 1_000 === 0 ? ms / 1_000 : trimmed(ms / 1_000)} s`;
  let rest = Math.round(ms / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [name, unit] of UNITS) {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    if (count > 0) parts.push(`${count} ${name}`);
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join(" ");
}

function trimmed(seconds: number): string {
  return seconds >= 10 ? seconds.toFixed(1) : seconds.toFixed(2);
}

/** Distances between labels of an axis of durations, in milliseconds: each label is one round number of one unit, or two units. */
export const DURATION_STEPS: readonly number[] = [
  ...[0.001, 0.01, 0.1, 1, 10, 100].flatMap((ms) => [ms, 2 * ms, 5 * ms]),
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...[1, 2, 7, 14, 28, 91, 365].map((days) => days * 86_400_000),
];

const A_MOMENT_MS = 1_000;

/** `just now`, `12 s ago`, `3 min ago`, `in 2 h`, and a date when it is more than 30 days. */
export function ago(atMs: number, nowMs: number): string {
  const distance = Math.abs(nowMs - atMs);
  if (distance < A_MOMENT_MS) return "just now";
  if (distance > 30 * UNITS[0][1]) return new Date(atMs).toLocaleDateString(undefined, { dateStyle: "medium" });
  for (const [name, unit] of UNITS) {
    if (distance < unit) continue;
    const text = `${Math.floor(distance / unit)} ${name}`;
    return atMs > nowMs ? `in ${text}` : `${text} ago`;
  }
  return "just now";
}

/** Every clock of the console: 24 hours, in the order of the reader's language. */
const formatOf = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, { ...options, hourCycle: "h23" });

const CLOCK = formatOf({ hour: "2-digit", minute: "2-digit" });
const CLOCK_SECONDS = formatOf({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = formatOf({ day: "numeric", month: "short" });
const DATE_TIME = formatOf({ dateStyle: "medium", timeStyle: "short" });
const DATE_TIME_SECONDS = formatOf({ dateStyle: "medium", timeStyle: "medium" });

/** `14:05`, `14:05:09`: for axes and for moments of today. */
export function clockText(ms: number, hasSeconds = false): string {
  return (hasSeconds ? CLOCK_SECONDS : CLOCK).format(ms);
}

/** Returns the label of a moment on an axis: `14:05`, and `22 Nov` where a day begins. */
export function axisText(ms: number): string {
  const at = new Date(ms);
  return at.getHours() === 0 && at.getMinutes() === 0 ? DAY.format(ms) : clockText(ms);
}

/** `22 Nov 2026, 14:05` */
export function dateTimeText(ms: number, hasSeconds = false): string {
  return (hasSeconds ? DATE_TIME_SECONDS : DATE_TIME).format(ms);
}

/** `Mon, 23 Nov, 02:30:00 GMT+1` on a clock in the zone. */
export function zonedText(ms: number, timeZone: string): string {
  const [date, clock] = [
    { weekday: "short", day: "numeric", month: "short" } as const,
    { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const,
  ];
  return formatOf({ ...date, ...clock, timeZone, timeZoneName: "short" }).format(ms);
}

/** Made once: making one takes a hundred times as long as using it, and lists use it for every row. */
const EXACT = formatOf({
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
});

/** `22 Nov 2026, 01:08:03.123 CET · 2026-11-22T00:08:03.123Z` */
export function exactMoment(ms: number): string {
  return `${EXACT.format(ms)} · ${new Date(ms).toISOString()}`;
}
