/** `perdure logs`: the journal of an invocation with the events between its entries, as they were stored. */
import { type AdminClient, isRecord, type SqlRow, sqlText } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { pause } from "../../pause.js";
import { action, adminOf } from "./connect.js";
import { LIST_ROWS_MAX, POLL_PAUSE_MS } from "./limits.js";
import { jsonOf, numberOf, textOf } from "./texts.js";
import { plain } from "./timeline-lines.js";
import { invocationId } from "./values.js";

export function registerLogs(program: Command, context: Context): void {
  program
    .command("logs")
    .helpGroup("Services and invocations:")
    .argument("<id>", "of an invocation", invocationId)
    .description("print an invocation's journal, with failures and pauses")
    .option("-f, --follow", "follow until it ends")
    .option("--full", "print whole entries with payloads")
    .action(action((id: string, flags: InvocationLogFlags) => logs(context, id, flags)));
}

interface InvocationLogFlags {
  readonly follow?: boolean;
  readonly full?: boolean;
}

/** Position up to which the log has been printed. */
interface LogPosition {
  nextIndex: number;
  events: number;
}

async function logs(context: Context, id: string, { follow, full }: InvocationLogFlags): Promise<void> {
  const admin = adminOf(context);
  const row = await admin.invocations.row(id, context);
  if (row === undefined)
    context.fail(FAILED, `There is no invocation ${id}`, "Completed invocations are deleted after their retention.");
  const position: LogPosition = { nextIndex: 0, events: 0 };
  for (;;) {
    // Read first: everything stored before is printed below.
    const status =
      follow === true ? textOf((await admin.invocations.row(id, context)) ?? { status: "completed" }, "status") : undefined;
    const entries = await newEntries(context, admin, id, position, full === true);
    for (const entry of entries) {
      context.output.event(entry, () => context.output.print(lineOf(context, entry, full === true)));
    }
    if (entries.length === LIST_ROWS_MAX) continue;
    if (follow !== true || status === "completed") return;
    await pause(context, POLL_PAUSE_MS);
  }
}

/** Entries and events since the position, in the order in which they were stored. */
async function newEntries(
  context: Context,
  admin: AdminClient,
  id: string,
  position: LogPosition,
  full: boolean,
): Promise<readonly SqlRow[]> {
  const json = full ? "entry_json" : "entry_lite_json";
  const where = `WHERE id = ${sqlText(id)}`;
  const [entries, events] = await Promise.all([
    admin.sql.query(
      `SELECT index, entry_type, name, appended_at, ${json} AS entry FROM sys_journal ${where} AND index >= ${position.nextIndex} ORDER BY index LIMIT ${LIST_ROWS_MAX}`,
      context,
    ),
    admin.sql.query(
      `SELECT after_journal_entry_index, event_type, appended_at, event_json FROM sys_journal_events ${where} ORDER BY appended_at`,
      context,
    ),
  ]);
  const fresh = events.slice(position.events);
  position.events = events.length;
  const last = entries.at(-1);
  if (last !== undefined) position.nextIndex = (numberOf(last, "index") ?? 0) + 1;
  return [...entries.map((row) => ({ kind: "entry", ...row })), ...fresh.map((row) => ({ kind: "event", ...row }))].sort(byPlace);
}

/** An event follows the entry that it names. */
function byPlace(a: SqlRow, b: SqlRow): number {
  const place = (row: SqlRow): number => numberOf(row, "index") ?? (numberOf(row, "after_journal_entry_index") ?? -1) + 0.5;
  return place(a) - place(b) || (textOf(a, "appended_at") ?? "").localeCompare(textOf(b, "appended_at") ?? "");
}

const TEXT_CHARS_MAX = 200;

function lineOf({ output }: Context, row: SqlRow, full: boolean): string {
  const time = output.paint("dim", (textOf(row, "appended_at") ?? "").slice(0, 23).padEnd(23));
  if (row["kind"] === "event") {
    const parsed = jsonOf(textOf(row, "event_json") ?? "");
    const event = isRecord(parsed) ? parsed : {};
    const message = typeof event["error_message"] === "string" ? event["error_message"] : "";
    const code = typeof event["restate_doc_error_code"] === "string" ? `${event["restate_doc_error_code"]} ` : "";
    const status = event["error_code"] === undefined ? "" : `[${event["error_code"]}] `;
    return `${time}       ${output.paint("red", `${textOf(row, "event_type")} ${code}${status}${plain(message, TEXT_CHARS_MAX)}`)}`;
  }
  const name = textOf(row, "name") ?? "";
  const entry = textOf(row, "entry") ?? "";
  const shown = full ? plain(entry, Number.POSITIVE_INFINITY) : plain(entry, TEXT_CHARS_MAX);
  return `${time} ${String(row["index"]).padStart(5)} ${textOf(row, "entry_type")}${name === "" ? "" : ` '${plain(name, TEXT_CHARS_MAX)}'`} ${output.paint("dim", shown)}`;
}
