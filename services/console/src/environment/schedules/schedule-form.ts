/** Turns the form into the body for the API; fields that the form does not have keep their values. Pure. */
import type { ScheduleView } from "@perdure/admin-client";
import { isJson, wideJson } from "../state/json-text.js";

export interface ScheduleFormFields {
  readonly name: string;
  readonly description: string;
  readonly cron: string;
  readonly zone: string;
  readonly service: string;
  readonly handler: string;
  readonly key: string;
  /** JSON; empty: no input. */
  readonly input: string;
  readonly overlap: string;
  readonly catchUp: string;
  readonly jitter: string;
  readonly startAt: string;
  readonly endAt: string;
  readonly firingsMax: string;
}

export const OVERLAPS = [
  { value: "skip", label: "Skip" },
  { value: "queue", label: "Queue: start after the running one" },
  { value: "cancel_previous", label: "Cancel the running one" },
  { value: "allow", label: "Allow overlap" },
] as const;
export const CATCH_UPS = [
  { value: "last", label: "Run the last missed one" },
  { value: "all", label: "Run all missed" },
  { value: "none", label: "Skip missed" },
] as const;

export function newFields(service: string, handler: string): ScheduleFormFields {
  return {
    name: "",
    description: "",
    cron: "0 9 * * MON-FRI",
    zone: "UTC",
    service,
    handler,
    key: "",
    input: "",
    overlap: "skip",
    catchUp: "last",
    jitter: "",
    startAt: "",
    endAt: "",
    firingsMax: "",
  };
}

export function fieldsOf(schedule: ScheduleView): ScheduleFormFields {
  const { payload } = schedule;
  return {
    name: schedule.name,
    description: schedule.description ?? "",
    cron: schedule.cron,
    zone: schedule.zone,
    service: schedule.target.service,
    handler: schedule.target.handler,
    key: schedule.target.key ?? "",
    input: payload === undefined ? "" : wideJson(JSON.stringify(payload)),
    overlap: schedule.overlap,
    catchUp: schedule.catch_up,
    jitter: schedule["jitter"] === "0s" ? "" : String(schedule["jitter"] ?? ""),
    startAt: textOf(schedule["start_at"]),
    endAt: textOf(schedule["end_at"]),
    firingsMax: textOf(schedule["max_firings"]),
  };
}

/** The input is bytes that are no JSON: they are kept as they are. */
export function hasBytes(schedule: ScheduleView | undefined): boolean {
  return typeof schedule?.["payload_base64"] === "string";
}

/** Errors of the form before it is sent; the calendar checks `cron` and `zone`. */
export function problemsOf(fields: ScheduleFormFields): Partial<Record<keyof ScheduleFormFields, string>> {
  const problems: Partial<Record<keyof ScheduleFormFields, string>> = {};
  if (fields.name.trim() === "") problems.name = "Enter a name.";
  if (fields.service === "") problems.service = "Choose a handler.";
  if (fields.handler === "") problems.handler = "Choose a handler.";
  if (fields.input.trim() !== "" && !isJson(fields.input)) problems.input = 'Not valid JSON. Strings need quotes: "…"';
  if (fields.firingsMax !== "" && !/^[1-9]\d{0,14}$/.test(fields.firingsMax)) problems.firingsMax = "A whole number from 1.";
  for (const name of ["startAt", "endAt"] as const) {
    if (fields[name] !== "" && !/^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:\d\d)$/.test(fields[name])) {
      problems[name] = "A time such as 2026-11-22T09:00:00Z.";
    }
  }
  return problems;
}

/** The body for the API; of an existing schedule with all fields that the form does not have. */
export function bodyOf(fields: ScheduleFormFields, schedule: ScheduleView | undefined): Record<string, unknown> {
  const input = fields.input.trim();
  return {
    ...schedule,
    name: fields.name.trim(),
    description: fields.description.trim() || null,
    cron: fields.cron.trim(),
    zone: fields.zone.trim(),
    target: { ...schedule?.target, service: fields.service, handler: fields.handler, key: fields.key || null },
    payload: input === "" ? undefined : (JSON.parse(input) as unknown),
    // Bytes stay; JSON takes their place.
    payload_base64: input === "" ? schedule?.["payload_base64"] : undefined,
    ...(input === "" ? {} : { content_type: "application/json" }),
    ...(input === "" && !hasBytes(schedule) ? { content_type: null } : {}),
    overlap: fields.overlap,
    max_queued: fields.overlap === schedule?.overlap ? schedule["max_queued"] : null,
    catch_up: fields.catchUp,
    max_caught_up: fields.catchUp === schedule?.catch_up ? schedule["max_caught_up"] : null,
    catch_up_window: fields.catchUp === schedule?.catch_up ? schedule["catch_up_window"] : null,
    jitter: fields.jitter.trim() || null,
    start_at: fields.startAt.trim() || null,
    end_at: fields.endAt.trim() || null,
    max_firings: fields.firingsMax === "" ? null : Number(fields.firingsMax),
  };
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}
