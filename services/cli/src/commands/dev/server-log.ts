/** Formats lines of the server's log for `perdure dev`: what failed, why, and the command that helps. */
import { harmless } from "../manage/connect.js";

/** Fields of a JSON line that are shown. */
interface LogEntry {
  readonly level?: string;
  readonly msg?: string;
  readonly ingress?: string;
  readonly admin?: string;
  readonly code?: string;
  readonly invocationId?: string;
  readonly target?: string;
  readonly attempt?: number;
  readonly reason?: string;
  readonly command?: string;
  readonly action?: string;
}

/** Undefined for a line that is not a log entry: the last output of a program that cannot start. */
export function entryOf(line: string): LogEntry | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as LogEntry;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
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
