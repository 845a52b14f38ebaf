/**
 * Reads the header that debounces an invocation: `x-restate-debounce: 5s;max=1m;key=customer-7`, also under the name `x-perdure-debounce`.
 * The ingress decides nothing about it: the partition of the key does.
 */
import { type InvocationId, idempotentInvocationId, parseDuration, type Random, siblingInvocationId } from "@perdure/base";
import type { Target } from "@perdure/state-machine";
import * as limits from "./limits.js";
import { badDebounce, type IngressRefusal } from "./refusal.js";
import { isVisibleAscii } from "./request-headers.js";

export interface DebounceRule {
  /** Time without another send after which the invocation starts. */
  readonly quietMs: number;
  /** Time after the first send at which it starts in any case. */
  readonly maxMs: number;
  readonly key: string | undefined;
}

export function parseDebounce(header: string): DebounceRule | IngressRefusal {
  if (!isVisibleAscii(header)) return badDebounce("it has characters that are not printable ASCII");
  const [first, ...parameters] = header.split(";");
  const quietMs = durationOf(first ?? "", "the duration", limits.debounceMsMax);
  if (typeof quietMs !== "number") return quietMs;
  let maxMs: number | undefined;
  let key: string | undefined;
  for (const parameter of parameters) {
    const equals = parameter.indexOf("=");
    const name = (equals < 0 ? parameter : parameter.slice(0, equals)).trim().toLowerCase();
    const value = equals < 0 ? "" : parameter.slice(equals + 1).trim();
    if (name === "max" && maxMs === undefined) {
      const parsed = durationOf(value, "max", limits.debounceDelayMsMax);
      if (typeof parsed !== "number") return parsed;
      if (parsed < quietMs) return badDebounce("max is shorter than the duration");
      maxMs = parsed;
    } else if (name === "key" && key === undefined) {
      if (value === "" || value.length > limits.debounceKeyCharsMax)
        return badDebounce(`key must have 1 to ${limits.debounceKeyCharsMax} characters`);
      key = value;
    } else return badDebounce(`the parameter '${name}' is unknown or repeated`);
  }
  maxMs ??= Math.min(limits.debounceDelayMsMax, quietMs * limits.debounceDelayFactor);
  return { quietMs, maxMs, key };
}

function durationOf(text: string, what: string, msMax: number): number | IngressRefusal {
  const parsed = parseDuration(text);
  if (!parsed.ok) return badDebounce(`${what}: ${parsed.reason}`);
  return parsed.ms >= 1 && parsed.ms <= msMax
    ? parsed.ms
    : badDebounce(`${what} must be at least 1ms and at most ${msMax / 3_600_000}h`);
}

/** A fresh id in the partition of the debounce key. It becomes the invocation's when the send is the first of its burst. */
export function debouncedInvocationId(target: Target, debounceKey: string, nowMs: number, random: Random): InvocationId {
  return siblingInvocationId(idempotentInvocationId(target, debounceKey), nowMs, random);
}
