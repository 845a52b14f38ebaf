/**
 * Rules that a request, or the options of a handler, give about how often invocations start. Debounce: `5s;max=1m;key=customer-7`.
 * Throttle: `1m;limit=3;key=customer-7;over=join`.
 */
import { parseDuration } from "./duration.js";

/** Bounds of the rules. */
export const pacingLimits = {
  /** Longest time without another send that a debounced invocation can wait for. */
  debounceMsMax: 24 * 3_600_000,
  /** Longest delay of a debounced invocation, however many sends follow the first. */
  debounceDelayMsMax: 7 * 24 * 3_600_000,
  /** Longest delay when the rule gives none, in quiet times. */
  debounceDelayFactor: 10,
  /** Longest period of a throttle: the time for which the row of its key is kept. */
  throttlePeriodMsMax: 24 * 3_600_000,
  /** Most invocations in one period. A row counts them, so the bound only excludes numbers that are certainly mistakes. */
  throttleLimitMax: 1_000_000,
  keyCharsMax: 256,
} as const;

export interface DebounceRule {
  /** Time without another send after which the invocation starts. */
  readonly quietMs: number;
  /** Time after the first send at which it starts in any case. */
  readonly maxMs: number;
  readonly key: string | undefined;
}

/** What a request gets that a throttle does not run: a refusal, or the newest invocation of the period. */
export type OverThrottle = "reject" | "join";

export interface ThrottleRule {
  readonly periodMs: number;
  /** Invocations that run in one period. */
  readonly limit: number;
  readonly key: string | undefined;
  readonly over: OverThrottle;
}

/** Text that switches a rule off: a header with it wins over the option of a handler. */
export const NO_PACING = "off";

/** `reason` continues a sentence about the rule. */
export type ParsedRule<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

type Fields = ReadonlyMap<string, string>;

export function parseDebounceRule(text: string): ParsedRule<DebounceRule> {
  const fields = readFields(text, ["max"]);
  if (!fields.ok) return fields;
  const quietMs = durationOf(fields.value, "", pacingLimits.debounceMsMax);
  if (!quietMs.ok) return quietMs;
  const longest = Math.min(pacingLimits.debounceDelayMsMax, quietMs.value * pacingLimits.debounceDelayFactor);
  const maxMs = fields.value.has("max")
    ? durationOf(fields.value, "max", pacingLimits.debounceDelayMsMax)
    : ({ ok: true, value: longest } as const);
  if (!maxMs.ok) return maxMs;
  if (maxMs.value < quietMs.value) return refused("max is shorter than the duration");
  return { ok: true, value: { quietMs: quietMs.value, maxMs: maxMs.value, key: fields.value.get("key") } };
}

export function parseThrottleRule(text: string): ParsedRule<ThrottleRule> {
  const fields = readFields(text, ["limit", "over"]);
  if (!fields.ok) return fields;
  const periodMs = durationOf(fields.value, "", pacingLimits.throttlePeriodMsMax);
  if (!periodMs.ok) return periodMs;
  const limit = fields.value.get("limit") ?? "1";
  if (!/^[1-9][0-9]{0,6}$/.test(limit) || Number(limit) > pacingLimits.throttleLimitMax)
    return refused(`limit must be a whole number from 1 to ${pacingLimits.throttleLimitMax}`);
  const over = fields.value.get("over") ?? "reject";
  if (over !== "reject" && over !== "join") return refused("over must be reject or join");
  return { ok: true, value: { periodMs: periodMs.value, limit: Number(limit), key: fields.value.get("key"), over } };
}

/** The duration has the name "". Every rule may have a key. */
function readFields(text: string, names: readonly string[]): ParsedRule<Fields> {
  const fields = new Map<string, string>();
  for (const [n, part] of text.split(";").entries()) {
    const equals = n === 0 ? -1 : part.indexOf("=");
    const name = n === 0 ? "" : (equals < 0 ? part : part.slice(0, equals)).trim().toLowerCase();
    const value = n > 0 && equals < 0 ? "" : part.slice(equals + 1).trim();
    if (n > 0 && ((name !== "key" && !names.includes(name)) || fields.has(name)))
      return refused(`the parameter '${name}' is unknown or repeated`);
    if (name === "key" && (value === "" || value.length > pacingLimits.keyCharsMax))
      return refused(`key must have 1 to ${pacingLimits.keyCharsMax} characters`);
    fields.set(name, value);
  }
  return { ok: true, value: fields };
}

function durationOf(fields: Fields, name: string, msMax: number): ParsedRule<number> {
  const what = name === "" ? "the duration" : name;
  const parsed = parseDuration(fields.get(name) ?? "");
  if (!parsed.ok) return refused(`${what}: ${parsed.reason}`);
  if (parsed.ms >= 1 && parsed.ms <= msMax) return { ok: true, value: parsed.ms };
  return refused(`${what} must be at least 1ms and at most ${msMax / 3_600_000}h`);
}

function refused(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
