/** Bodies of requests about services and the state of their keys. */
import {
  NO_PACING,
  type ParsedRule,
  parseDebounceRule,
  parseDuration,
  parseThrottleRule,
  toBinaryString,
  utf8,
} from "@perdure/base";
import { z } from "zod";

/** A friendly or ISO 8601 duration, as milliseconds. */
const DurationText = z.string().transform((text, context) => {
  const parsed = parseDuration(text);
  if (parsed.ok) return parsed.ms;
  context.addIssue({ code: "custom", message: parsed.reason });
  return z.NEVER;
});

/** Timers of a partition can be so far in the future, and no clock is so wrong. */
const STATE_TTL_MS_MAX = 3_650 * 86_400_000;

const isStateTtl = (ms: number): boolean => ms >= 1_000 && ms <= STATE_TTL_MS_MAX;

/** Times to live of state, in milliseconds. */
const StateTtl = DurationText.refine(isStateTtl, "a time to live is from 1s to 3650d");
const ServiceStateTtl = DurationText.refine(
  (ms) => ms === 0 || isStateTtl(ms),
  "a time to live is from 1s to 3650d, or 0s for none",
);

/** Rules by handler. `null` removes one, which travels on as `off`. */
function handlerRules(read: (text: string) => ParsedRule<unknown>) {
  const rule = z.string().superRefine((text, context) => {
    const parsed = text === NO_PACING ? undefined : read(text);
    if (parsed?.ok === false) context.addIssue({ code: "custom", message: parsed.reason });
  });
  return z.record(
    z.string(),
    rule.nullable().transform((text) => text ?? NO_PACING),
  );
}

export const ModifyService = z
  .object({
    public: z.boolean().nullish(),
    idempotency_retention: DurationText.nullish(),
    workflow_completion_retention: DurationText.nullish(),
    journal_retention: DurationText.nullish(),
    inactivity_timeout: DurationText.nullish(),
    abort_timeout: DurationText.nullish(),
    state_ttl: ServiceStateTtl.nullish().describe("Virtual objects only: 1s to 3650d, `0s`: state does not expire"),
    debounce: handlerRules(parseDebounceRule)
      .nullish()
      .describe("By handler: `5s;max=1m;key=…` as in the header `x-restate-debounce`, `null`: none"),
    throttle: handlerRules(parseThrottleRule)
      .nullish()
      .describe("By handler: `1m;limit=3;key=…;over=join` as in the header `x-restate-throttle`, `null`: none"),
  })
  .meta({ id: "ModifyServiceRequest" });

export const ModifyStateTtl = z
  .object({
    object_key: z.string(),
    scope: z.string().nullish(),
    ttl: StateTtl.nullable().describe("`null`: the time to live of the service"),
  })
  .meta({ id: "ModifyStateTtlRequest" });

/** An entry of state; `key` is a binary string of its UTF-8. */
interface NamedState {
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * Keys to bytes: a list of byte values, or a text that stands for its UTF-8. Parsed without zod, because such a list can have millions of
 * elements and a key can have any name.
 */
const NewState = z.unknown().transform((value, context): readonly NamedState[] => {
  const issue = (path: (string | number)[], message: string) => context.addIssue({ code: "custom", path, message });
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    issue([], value === undefined ? "missing field" : "expected a map");
    return z.NEVER;
  }
  const entries: NamedState[] = [];
  for (const [key, bytes] of Object.entries(value)) {
    const read = typeof bytes === "string" ? utf8(bytes) : readBytes(bytes);
    if (typeof read === "object") entries.push({ key: toBinaryString(utf8(key)), value: read });
    else issue(read < 0 ? [key] : [key, read], read < 0 ? "expected a byte array" : "expected a byte value, 0 to 255");
  }
  return entries;
});

export const ModifyState = z
  .object({
    version: z.string().nullish(),
    object_key: z.string(),
    scope: z.string().nullish(),
    new_state: NewState,
  })
  .meta({ id: "ModifyServiceStateRequest" });

/** The bytes, or the index of the first element that is not a byte, or −1 when the value is not a list. */
function readBytes(value: unknown): Uint8Array | number {
  if (!Array.isArray(value)) return -1;
  const bytes = new Uint8Array(value.length);
  for (let index = 0; index < value.length; index++) {
    const byte: unknown = value[index];
    if (typeof byte !== "number" || !Number.isInteger(byte) || byte < 0 || byte > 255) return index;
    bytes[index] = byte;
  }
  return bytes;
}
