/** Body of a schedule: validated without zones and handlers, which only the server has. */
import { parseDuration, utf8 } from "@perdure/base";
import { CRON_CHARS_MAX } from "@perdure/recurrence";
import {
  CATCH_UP_WINDOW_MS_MAX,
  CAUGHT_UP_MAX,
  DESCRIPTION_CHARS_MAX,
  HEADER_CHARS_MAX,
  HEADERS_MAX,
  JITTER_MS_MAX,
  KEY_CHARS_MAX,
  NAME_CHARS_MAX,
  PAYLOAD_BYTES_MAX,
  QUEUED_MAX,
} from "@perdure/schedules";
import { z } from "zod";
import { ScheduleShape } from "./responses.js";

const Name = z
  .string()
  .min(1, "empty string")
  .max(NAME_CHARS_MAX)
  .regex(/^[^\p{Cc}]*$/u, "has control characters");
const Moment = z.iso.datetime({ offset: true });
const PRIORITY_MIN = 1;
const PRIORITY_MAX = 5;

/** Text such as `30s` or `1h30m`. */
function duration(maxMs: number) {
  return z.string().superRefine((text, context) => {
    const parsed = parseDuration(text);
    if (!parsed.ok) context.addIssue({ code: "custom", message: `is not a duration: ${parsed.reason}` });
    else if (parsed.ms > maxMs) context.addIssue({ code: "custom", message: `is longer than ${maxMs} ms` });
  });
}

/** Names that the server itself sets on requests to the handler. */
const RESERVED = /^(?:x-perdure-|x-restate-|content-type$|content-length$|connection$|host$|transfer-encoding$)/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HeaderValue = z
  .string()
  .max(HEADER_CHARS_MAX)
  .regex(/^[\t\x20-\x7e]*$/, "is not a header value");
const Headers = z.record(z.string().max(HEADER_CHARS_MAX), HeaderValue).superRefine((headers, context) => {
  const fail = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
  const names = Object.keys(headers);
  if (names.length > HEADERS_MAX) context.addIssue({ code: "custom", message: `there can be at most ${HEADERS_MAX}` });
  for (const name of names) {
    if (!HEADER_NAME.test(name)) fail(name, "is not a header name");
    else if (RESERVED.test(name.toLowerCase())) fail(name, "is a reserved header name");
  }
});

const Target = z.strictObject({
  service: z.string().min(1),
  handler: z.string().min(1),
  key: z.string().max(KEY_CHARS_MAX).nullish(),
  scope: z.string().min(1).nullish(),
  limit_key: z.string().min(1).nullish(),
  priority: z.number().int().min(PRIORITY_MIN).max(PRIORITY_MAX).nullish(),
});

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

const fields = {
  name: Name,
  description: z.string().max(DESCRIPTION_CHARS_MAX).nullish(),
  cron: z.string().max(CRON_CHARS_MAX),
  zone: z.string().max(NAME_CHARS_MAX).nullish(),
  jitter: duration(JITTER_MS_MAX).nullish(),
  start_at: Moment.nullish(),
  end_at: Moment.nullish(),
  max_firings: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).nullish(),
  target: Target,
  /** Any JSON, `null` among it. */
  payload: z.unknown().optional(),
  payload_base64: z.string().regex(BASE64, "is not base64").nullish(),
  content_type: HeaderValue.nullish(),
  headers: Headers.nullish(),
  overlap: z.enum(["skip", "queue", "cancel_previous", "allow"]).nullish(),
  max_queued: z.number().int().min(1).max(QUEUED_MAX).nullish(),
  catch_up: z.enum(["none", "last", "all"]).nullish(),
  max_caught_up: z.number().int().min(1).max(CAUGHT_UP_MAX).nullish(),
  catch_up_window: duration(CATCH_UP_WINDOW_MS_MAX).nullish(),
  paused: z.boolean().optional(),
} as const;

/** Strict, because a misspelt `catchup` must not count as absent. */
export const CreateSchedule = z.strictObject(fields).superRefine(belongTogether).meta({ id: "CreateScheduleRequest" });

/** A range of times, `from` included and `to` not. */
export const BackfillSchedule = z
  .strictObject({
    from: Moment,
    to: Moment.optional().describe("Not after now, which is the default"),
    dry_run: z.boolean().optional().describe("List the times and call nothing"),
  })
  .meta({ id: "BackfillScheduleRequest" });

const SHOWN_ONLY = Object.keys(ScheduleShape.shape).filter((name) => !Object.hasOwn(fields, name));

/** The answer for a schedule can be edited and sent back: fields that are only shown are ignored. */
export const ReplaceSchedule = z
  .strictObject<typeof fields>({ ...fields, ...Object.fromEntries(SHOWN_ONLY.map((name) => [name, z.unknown().optional()])) })
  .superRefine(belongTogether)
  .meta({ id: "ReplaceScheduleRequest" });

function belongTogether(body: ScheduleBody, context: z.RefinementCtx): void {
  const fail = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
  if (body.payload !== undefined && typeof body.payload_base64 === "string") fail("payload_base64", "there is a payload already");
  if (payloadChars(body) > Math.ceil(PAYLOAD_BYTES_MAX / 3) * 4) {
    fail("payload", `is larger than ${PAYLOAD_BYTES_MAX} bytes`);
  }
  if (typeof body.max_queued === "number" && body.overlap !== "queue")
    fail("max_queued", "belongs to the overlap policy `queue`");
  if (typeof body.max_caught_up === "number" && body.catch_up !== "all")
    fail("max_caught_up", "belongs to the catch-up policy `all`");
  if (typeof body.catch_up_window === "string" && body.catch_up !== "all") {
    fail("catch_up_window", "belongs to the catch-up policy `all`");
  }
  const window = parseDuration(body.catch_up_window ?? "1s");
  if (window.ok && window.ms === 0) fail("catch_up_window", "is empty");
}

export type ScheduleBody = z.infer<z.ZodObject<typeof fields>>;

/** Characters of the payload in base64; JSON is encoded first. */
function payloadChars({ payload, payload_base64 }: Pick<ScheduleBody, "payload" | "payload_base64">): number {
  if (payload === undefined) return payload_base64?.length ?? 0;
  return Math.ceil(utf8(JSON.stringify(payload)).length / 3) * 4;
}
