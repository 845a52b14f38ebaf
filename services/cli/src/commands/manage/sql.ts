/** `perdure sql`: SQL queries for everything without a command of its own: one statement, a script, or interactive. */
import { readFileSync } from "node:fs";
import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import { AdminApiError, type AdminClient, type SqlRow } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { USAGE } from "../../errors.js";
import { action, adminOf, asCliError } from "./connect.js";
import { HISTORY_LINES_MAX, SQL_CELL_CHARS } from "./limits.js";
import { columnsOf, csvLines } from "./sql-rows.js";
import { textOf } from "./texts.js";

export function registerSql(program: Command, context: Context): void {
  program
    .command("sql")
    .helpGroup("Services and invocations:")
    .description("query invocations, journals, state … with SQL; interactive without a statement")
    .argument("[statement]", "one statement; - reads it from stdin")
    .option("--csv", "print comma-separated values")
    .addHelpText("after", "\nTables: perdure sql 'SHOW TABLES'. Columns: perdure sql 'DESCRIBE sys_invocation'.")
    .action(action((statement: string | undefined, { csv }: { csv?: boolean }) => run(context, statement, csv === true)));
}

async function run(context: Context, argument: string | undefined, isCsv: boolean): Promise<void> {
  const admin = adminOf(context);
  if (argument === undefined) {
    if (!context.prompts.isInteractive)
      context.fail(USAGE, "A statement is missing", "perdure sql 'SELECT …', or perdure sql - < file.sql");
    return talk(context, admin);
  }
  const statement = argument === "-" ? readFileSync(0, "utf8") : argument;
  const rows = await admin.sql.query(statement, context);
  if (isCsv) {
    for (const line of csvLines(rows)) context.output.value(line);
    return;
  }
  context.output.result({ rows }, () => show(context, rows));
}

function show({ output }: Context, rows: readonly SqlRow[]): void {
  const columns = columnsOf(rows).map((name) => ({
    title: name,
    cutTo: SQL_CELL_CHARS,
    show: (row: SqlRow) => textOf(row, name),
    ...alignOf(rows, name),
  }));
  output.table(columns, rows, "No rows.", { wraps: true });
  if (rows.length > 0) output.note(`${rows.length} ${rows.length === 1 ? "row" : "rows"}`);
}

function alignOf(rows: readonly SqlRow[], name: string): { align?: "right" } {
  return rows.every((row) => row[name] === undefined || typeof row[name] === "number") ? { align: "right" } : {};
}

/** Interactive mode until Ctrl-D or `\q`. A statement ends with the line, or with a semicolon when it has several. */
async function talk(context: Context, admin: AdminClient): Promise<void> {
  const { output, signal } = context;
  output.note("A statement per line (or several lines up to ;). \\t lists tables, \\d <table> its columns, \\q ends.");
  const lines = createInterface({ input: stdin, output: stderr, historySize: HISTORY_LINES_MAX, prompt: "sql> " });
  let begun = "";
  const runStatement = async (statement: string): Promise<void> => {
    try {
      show(context, await admin.sql.query(statement, { signal }));
    } catch (cause) {
      if (!(cause instanceof AdminApiError)) throw cause;
      output.warn(asCliError(cause).message);
    }
  };
  lines.on("SIGINT", () => lines.close());
  lines.prompt();
  for await (const line of lines) {
    const text = `${begun} ${line}`.trim();
    begun = "";
    const described = /^\\d\s+([a-z_][a-z0-9_]*)$/i.exec(text);
    if (text === "\\q") break;
    else if (text === "\\t") await runStatement("SHOW TABLES");
    else if (described !== null) await runStatement(`DESCRIBE ${described[1]}`);
    else if (/^(?:select|with|explain|show|describe)\b/i.test(text) && !isWhole(text)) begun = text;
    else if (text !== "") await runStatement(text);
    lines.setPrompt(begun === "" ? "sql> " : "  …> ");
    lines.prompt();
  }
  lines.close();
}

/** Ends with a semicolon, or has a FROM and no open quote or parenthesis. */
function isWhole(text: string): boolean {
  if (text.endsWith(";")) return true;
  const outside = text.replace(/'(?:[^']|'')*'/g, "");
  const opened = [...outside].filter((char) => char === "(").length;
  const closed = [...outside].filter((char) => char === ")").length;
  return !outside.includes("'") && opened === closed && !/(?:,|\b(?:from|where|and|or|by|select|on|join))$/i.test(outside);
}
