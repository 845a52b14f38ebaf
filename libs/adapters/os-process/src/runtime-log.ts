/**
 * Keeps the output of a runtime in a bounded file beside its data. The owner of the environment may read it (cloud.md §1.9,
 * `GetEnvironmentLogs`).
 *
 *   runtime.log       recent output, and our lines about the runtime
 *   runtime.log.old   earlier output
 */
import { appendFileSync, copyFileSync, type Stats, statSync, truncateSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { jsonFields, parseJson } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { EnvironmentFiles } from "./files.js";
import { LOG_BYTES_MAX, LOG_LINE_CHARS_MAX, LOG_READ_BYTES_MAX } from "./limits.js";

export interface LogLine {
  readonly atMs: number;
  readonly line: string;
}

export interface LogSpan {
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** The latest ones, when there are more. */
  readonly linesMax: number;
}

/**
 * Reads the output of runtimes, oldest line first; empty for an environment that never ran here. Needs no provisioner, only its directory.
 */
export function readRuntimeLogs(directory: string, id: EnvironmentId, span: LogSpan): Promise<readonly LogLine[]> {
  return readLog(new EnvironmentFiles(directory, id), span);
}

/** The process appends to the file, so the part that is cut off does not come back as a hole. */
export function boundLog({ log, oldLog }: EnvironmentFiles): void {
  const stats: Stats | undefined = statSync(log, { throwIfNoEntry: false });
  if (stats === undefined || stats.size <= LOG_BYTES_MAX) return;
  copyFileSync(log, oldLog);
  truncateSync(log);
}

/** A line of the provisioner between those of the runtime, in the same format. */
export function appendToLog({ log }: EnvironmentFiles, atMs: number, message: string, fields: object): void {
  const line = { level: "warn", ts: new Date(atMs).toISOString(), component: "platform", ...fields, msg: message };
  appendFileSync(log, `${JSON.stringify(line)}\n`, { mode: 0o600 });
}

async function readLog({ log, oldLog }: EnvironmentFiles, { fromMs, toMs, linesMax }: LogSpan): Promise<readonly LogLine[]> {
  const logLines: LogLine[] = [];
  let atMs: number | undefined;
  for (const text of [await endOf(oldLog), await endOf(log)]) {
    for (const line of text.split("\n")) {
      if (line === "") continue;
      // A line that is not from our logger (a stack of Node's own) has the time of the line before it.
      atMs = timeOf(line) ?? atMs;
      if (atMs === undefined || atMs < fromMs || atMs >= toMs) continue;
      logLines.push({ atMs, line: line.slice(0, LOG_LINE_CHARS_MAX) });
      if (logLines.length >= 2 * linesMax) logLines.splice(0, linesMax);
    }
  }
  return logLines.slice(-linesMax);
}

/** The last part of a file, from a whole line on. */
async function endOf(path: string): Promise<string> {
  const stats = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw cause;
  });
  if (stats === undefined) return "";
  await using file = await open(path, "r");
  const length = Math.min(stats.size, LOG_READ_BYTES_MAX);
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, stats.size - length);
  const text = buffer.toString("utf8", 0, bytesRead);
  return length < stats.size ? text.slice(text.indexOf("\n") + 1) : text;
}

/** Time of a JSON line of our logger; undefined for any other line. */
function timeOf(line: string): number | undefined {
  if (!line.startsWith("{")) return undefined;
  const ts = jsonFields(parseJson(line))?.["ts"]; // Not JSON: the line was cut off while it was written.
  const ms = typeof ts === "string" ? Date.parse(ts) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}
