/** Describes a cron expression, which is easily misread, in plain text. Pure. */
import { parseRecurrence } from "@perdure/recurrence";
import cronstrue from "cronstrue";
import { durationText } from "../../kit/time-text.js";

/** `At 02:30, Monday through Friday`; undefined for an expression that the server refuses, or that the library cannot describe. */
export function cronText(cron: string): string | undefined {
  const recurrence = parseRecurrence(cron);
  if (!recurrence.ok) return undefined;
  if (recurrence.value.kind === "every") return `Every ${durationText(recurrence.value.everyMs)}`;
  try {
    return cronstrue.toString(cron.trim(), { use24HourTimeFormat: true });
  } catch {
    // The parser throws for expressions that only the server supports, such as those with a year.
    return undefined;
  }
}
