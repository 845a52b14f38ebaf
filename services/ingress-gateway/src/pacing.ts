/**
 * Reads how often the invocations of a request may start: from the headers `x-restate-debounce` and `x-restate-throttle` (also under the names
 * `x-perdure-…`), otherwise from the options of the handler. The ingress decides nothing about it: the partition of the key does.
 */
import {
  type DebounceRule,
  derivedInvocationId,
  type InvocationId,
  idempotentInvocationId,
  NO_PACING,
  type ParsedRule,
  parseDebounceRule,
  parseThrottleRule,
  type Random,
  siblingInvocationId,
  type ThrottleRule,
} from "@perdure/base";
import type { HandlerView } from "@perdure/control";
import { type Target, throttleRowId } from "@perdure/state-machine";
import type { IngressExchange } from "./exchange.js";
import type { IngressRefusal } from "./refusal.js";
import * as refusal from "./refusal.js";
import { isVisibleAscii } from "./request-headers.js";

/** At most one of the two. `isOption`: the rule is that of the handler. */
export type PacingRule =
  | { readonly kind: "debounce"; readonly rule: DebounceRule; readonly isOption: boolean }
  | { readonly kind: "throttle"; readonly rule: ThrottleRule };

/** A header wins over the option of the same kind, and a rule in a header over both options. */
export function pacingOf(exchange: IngressExchange, handler: HandlerView): PacingRule | IngressRefusal | undefined {
  const { debounce, throttle } = exchange;
  const isDebounced = debounce !== undefined && debounce.trim() !== NO_PACING;
  const isThrottled = throttle !== undefined && throttle.trim() !== NO_PACING;
  if (isDebounced && isThrottled) return refusal.debouncedThrottle;
  if ((isDebounced || isThrottled) && handler.handlerType === "workflow")
    return isDebounced ? refusal.debouncedWorkflow : refusal.throttledWorkflow;
  if (isDebounced) return debounceOf(debounce, false);
  if (isThrottled) return throttleOf(throttle);
  if (debounce === undefined && handler.debounce !== undefined) return debounceOf(handler.debounce, true);
  return throttle === undefined && handler.throttle !== undefined ? throttleOf(handler.throttle) : undefined;
}

function debounceOf(text: string, isOption: boolean): PacingRule | IngressRefusal {
  const parsed = parse(text, parseDebounceRule);
  return parsed.ok ? { kind: "debounce", rule: parsed.value, isOption } : refusal.badDebounce(parsed.reason);
}

function throttleOf(text: string): PacingRule | IngressRefusal {
  const parsed = parse(text, parseThrottleRule);
  return parsed.ok ? { kind: "throttle", rule: parsed.value } : refusal.badThrottle(parsed.reason);
}

function parse<T>(text: string, read: (text: string) => ParsedRule<T>): ParsedRule<T> {
  return isVisibleAscii(text) ? read(text) : { ok: false, reason: "it has characters that are not printable ASCII" };
}

/** A fresh id in the partition of the debounce key. It becomes the invocation's when the send is the first of its burst. */
export function debouncedInvocationId(target: Target, debounceKey: string, nowMs: number, random: Random): InvocationId {
  return siblingInvocationId(idempotentInvocationId(target, debounceKey), nowMs, random);
}

/**
 * An id in the partition of the throttle key. Objects and scopes have one partition, so their idempotent invocations have the usual id. The
 * idempotent id of a plain service lies in a partition of its own key, where the throttle is not; then the id is derived from both keys.
 */
export function throttledInvocationId(
  target: Target,
  throttleKey: string,
  idempotencyKey: string | undefined,
  nowMs: number,
  random: Random,
): InvocationId {
  const row = throttleRowId(target, throttleKey);
  if (idempotencyKey === undefined) return siblingInvocationId(row, nowMs, random);
  return target.scope !== undefined || target.key !== undefined
    ? idempotentInvocationId(target, idempotencyKey)
    : derivedInvocationId(row, `tk,${row},${idempotencyKey}`);
}
