/**
 * Templates of object and workflow keys that may contain the firing. A template is text with `{time}`, `{date}`, `{unix}`, `{name}` and
 * `{id}`; `{{` and `}}` are the braces themselves.
 */

import { zoneOf } from "@perdure/recurrence";
import type { ScheduleRecord } from "./schedule.js";

const PIECE = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

type Placeholder = (record: Pick<ScheduleRecord, "id" | "name" | "zone">, nominalMs: number) => string;

const PLACEHOLDERS: Readonly<Record<string, Placeholder>> = {
  time: (_record, nominalMs) => timeText(nominalMs),
  date: ({ zone }, nominalMs) => new Date(nominalMs + (zoneOf(zone)?.offsetAt(nominalMs) ?? 0)).toISOString().slice(0, 10),
  unix: (_record, nominalMs) => String(Math.floor(nominalMs / 1000)),
  name: ({ name }) => name,
  id: ({ id }) => id,
};

/** Returns what is wrong with the template; undefined when it can be filled in. */
export function keyTemplateProblem(template: string): string | undefined {
  for (const [piece, name] of template.matchAll(PIECE)) {
    if (piece === "{" || piece === "}") return `a single '${piece}' is written '${piece}${piece}'`;
    if (name !== undefined && !Object.hasOwn(PLACEHOLDERS, name)) {
      const placeholders = Object.keys(PLACEHOLDERS).map((one) => `{${one}}`);
      return `'${piece}' is not one of ${placeholders.join(", ")}`;
    }
  }
  return undefined;
}

/** Returns the key of the firing for `nominalMs`. The template was checked when the schedule was created. */
export function firingKey(template: string, record: Pick<ScheduleRecord, "id" | "name" | "zone">, nominalMs: number): string {
  return template.replace(PIECE, (piece, name: string | undefined) => {
    if (name === undefined) return piece.charAt(0);
    return PLACEHOLDERS[name]?.(record, nominalMs) ?? piece;
  });
}

/** Returns a time in UTC, `2026-11-21T06:05:00Z`, with milliseconds only where they are not zero. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}
