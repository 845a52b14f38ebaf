/**
 * The server's sentences are made for terminals and logs: times in UTC with milliseconds, durations as `6m 23s`. The console shows both as
 * everywhere else. Only durations after `for` and `in` and before `ago` are replaced: text that an error quotes stays as it is. Pure.
 */
import { dateTimeText, durationText } from "../../kit/time-text.js";

type ProsePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "time"; readonly atMs: number; readonly text: string };

const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;
const DURATION = String.raw`\d+(?:ms|[dhms])(?: \d+(?:ms|[dhms]))*`;
const DURATION_IN_PROSE = new RegExp(String.raw`(\b(?:for|in) )(${DURATION})(?![\w-])|(?<![\w.-])(${DURATION})( ago\b)`, "g");
const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

export function proseParts(text: string): readonly ProsePart[] {
  return text
    .split(TIME)
    .map((part, index): ProsePart => {
      const atMs = index % 2 === 1 ? Date.parse(part) : Number.NaN;
      return Number.isNaN(atMs)
        ? { kind: "text", text: withDurations(part) }
        : { kind: "time", atMs, text: dateTimeText(atMs, true) };
    })
    .filter(({ text }) => text !== "");
}

function withDurations(text: string): string {
  return text.replaceAll(DURATION_IN_PROSE, (_, before?: string, after?: string, past?: string, ago?: string) =>
    past === undefined ? `${before}${proseDuration(after ?? "")}` : `${proseDuration(past)}${ago}`,
  );
}

/** `6m 23s` → `6 min 23 s` */
function proseDuration(duration: string): string {
  const ms = duration.split(" ").reduce((sum, part) => {
    const [, count, unit = ""] = /^(\d+)(\w+)$/.exec(part) ?? [];
    return sum + Number(count) * (UNIT_MS[unit] ?? 0);
  }, 0);
  return durationText(ms);
}
