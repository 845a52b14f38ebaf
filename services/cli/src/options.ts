/** Parsers of option values, shared by all commands. */
import { type Clock, parseDuration } from "@perdure/base";
import { InvalidArgumentError } from "commander";

/** A date (`2026-11-21`, `2026-11-21T10:00:00Z`) or a duration relative to now; returns unix seconds. */
function timeOf(text: string, clock: Clock, sign: 1 | -1): number {
  const duration = parseDuration(text);
  if (duration.ok) return Math.floor((clock.nowMs() + sign * duration.ms) / 1_000);
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError("It must be a duration such as 2h or 30d, or a date such as 2026-11-21.");
  return Math.floor(ms / 1_000);
}

/** Parses `--since 2h` or `--from 2026-11-01` to unix seconds. */
export function timeBefore(clock: Clock): (text: string) => number {
  return (text) => timeOf(text, clock, -1);
}

/** Parses `--expires 30d` to unix seconds. */
export function timeAhead(clock: Clock): (text: string) => number {
  return (text) => timeOf(text, clock, 1);
}

/** A whole number from `least` to `most`. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** Collects a flag that may be given several times. */
export function gathered<T>(parse: (text: string) => T): (text: string, before: readonly T[] | undefined) => readonly T[] {
  return (text, before) => [...(before ?? []), parse(text)];
}
