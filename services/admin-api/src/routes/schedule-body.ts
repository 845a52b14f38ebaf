/** Converts the body of a schedule to the internal form. */
import type { ScheduleBody } from "@perdure/admin-contract/requests";
import { parseDuration } from "@perdure/base";
import {
  CATCH_UP_WINDOW_MS_DEFAULT,
  CAUGHT_UP_DEFAULT,
  type CatchUpPolicy,
  type OverlapPolicy,
  QUEUED_DEFAULT,
  type SchedulePayload,
  type ScheduleSpec,
} from "@perdure/schedules";

const JSON_TYPE = "application/json";

/** The specification with every default filled in. */
export function specOf(body: ScheduleBody): ScheduleSpec {
  const { target } = body;
  return {
    name: body.name,
    description: body.description ?? undefined,
    cron: body.cron,
    zone: body.zone ?? "UTC",
    jitterMs: msOf(body.jitter ?? "0s"),
    startAtMs: momentOf(body.start_at),
    endAtMs: momentOf(body.end_at),
    firingsMax: body.max_firings ?? undefined,
    target: {
      service: target.service,
      handler: target.handler,
      key: target.key ?? undefined,
      scope: target.scope ?? undefined,
      limitKey: target.limit_key ?? undefined,
      priority: target.priority ?? undefined,
    },
    payload: payloadOf(body),
    headers: lowerCaseNames(body.headers ?? {}),
    overlap: overlapOf(body),
    catchUp: catchUpOf(body),
  };
}

type PayloadFields = Pick<ScheduleBody, "payload" | "payload_base64" | "content_type">;

/** JSON implies its content type, bytes have the given one, and an empty payload has none. */
function payloadOf(body: PayloadFields): SchedulePayload {
  const contentType = body.content_type ?? undefined;
  if (body.payload !== undefined) {
    return { contentType: contentType ?? JSON_TYPE, base64: Buffer.from(JSON.stringify(body.payload)).toString("base64") };
  }
  return { contentType, base64: body.payload_base64 ?? "" };
}

function overlapOf({ overlap, max_queued }: ScheduleBody): OverlapPolicy {
  switch (overlap) {
    case "queue":
      return { kind: "queue", max: max_queued ?? QUEUED_DEFAULT };
    case "cancel_previous":
      return { kind: "cancelPrevious" };
    case "allow":
      return { kind: "allow" };
    default:
      return { kind: "skip" };
  }
}

function catchUpOf({ catch_up, max_caught_up, catch_up_window }: ScheduleBody): CatchUpPolicy {
  switch (catch_up) {
    case "all": {
      const windowMs = typeof catch_up_window === "string" ? msOf(catch_up_window) : CATCH_UP_WINDOW_MS_DEFAULT;
      return { kind: "all", max: max_caught_up ?? CAUGHT_UP_DEFAULT, windowMs };
    }
    case "none":
      return { kind: "none" };
    default:
      return { kind: "last" };
  }
}

/** Milliseconds of a text that is already validated. */
function msOf(text: string): number {
  const parsed = parseDuration(text);
  return parsed.ok ? Math.ceil(parsed.ms) : 0;
}

function momentOf(text: string | null | undefined): number | undefined {
  return text === null || text === undefined ? undefined : Date.parse(text);
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
