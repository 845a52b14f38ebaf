/** Formats lines of the server's log for `perdure dev`: what failed, why, and the command that helps. */
import { jsonFields, parseJson } from "@perdure/base";
import { harmless } from "../manage/connect.js";

/** Fields of a JSON line that are shown. */
type LogEntry = Readonly<Partial<Record<(typeof TEXTS)[number], string>>> & { readonly attempt?: number };

const TEXTS = ["level", "msg", "ingress", "admin", "code", "invocationId", "target", "reason", "command", "action"] as const;

/** Undefined for a line that is not a log entry: the last output of a program that cannot start. */
export function entryOf(line: string): LogEntry | undefined {
  if (!line.startsWith("{")) return undefined;
  const fields = jsonFields(parseJson(line));
  if (fields === undefined) return undefined;
  const entry: { -readonly [name in keyof LogEntry]: LogEntry[name] } = {};
  for (const name of TEXTS) {
    const text = fields[name];
    if (typeof text === "string") entry[name] = text;
  }
  if (typeof fields["attempt"] === "number") entry.attempt = fields["attempt"];
  return entry;
}

export function textOf(line: string, entry: LogEntry | undefined): string {
  if (entry === undefined) return line;
  const { level, msg, code, invocationId } = entry;
  const head = `${level}: ${code === undefined ? "" : `${code} `}`;
  if (msg !== "attempt failed" || invocationId === undefined) {
    const reason = entry.reason === undefined ? "" : `: ${harmless(entry.reason)}`;
    return `${head}${msg ?? line}${reason}`;
  }
  const step = entry.command === undefined ? "" : ` at '${harmless(entry.command)}'`;
  const what = `attempt ${entry.attempt} of ${entry.target} failed${step}: ${harmless(entry.reason ?? "")}`;
  return `${head}${what} (${invocationId}, ${entry.action}). ${adviceOf(code, invocationId)}`;
}

/** Journal and code do not match until the invocation is restarted or the old code is back. */
function adviceOf(code: string | undefined, id: string): string {
  if (code === "RT0016") return `Undo the change, or: perdure invocations restart ${id}, perdure invocations kill ${id}`;
  return `See: perdure explain ${id}`;
}
