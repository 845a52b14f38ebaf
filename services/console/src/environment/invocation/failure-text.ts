/** Splits an error into its message (the first lines) and its stack (the lines after them). Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { z } from "zod";
import { momentMs } from "./invocation-timeline.js";

export interface FailureParts {
  readonly message: string;
  /** Lines, the innermost first as the language prints it; none when there is no stack. */
  readonly stack: readonly string[];
}

/** `[500 Internal] message`, then a stack in the manner of JavaScript, Java, Python, Go or Rust. */
export function partsOf(text: string): FailureParts {
  const lines = text.replace(/\s+$/, "").split("\n");
  const first = lines.findIndex((line, index) => index > 0 && isFrame(line));
  if (first < 0) return { message: lines.join("\n"), stack: [] };
  const message = lines.slice(0, first);
  // SDKs send `TypeError: message` once more on top of the stack.
  const last = message.at(-1);
  const isRepeated = message.length > 1 && last !== undefined && endsAlike(last, message[0] ?? "");
  return { message: (isRepeated ? message.slice(0, -1) : message).join("\n"), stack: lines.slice(first) };
}

function isFrame(line: string): boolean {
  return /^\s+at |^\s+File "|^\s+\d+: |^goroutine |^Traceback |^\s*Caused by:/.test(line);
}

function endsAlike(line: string, first: string): boolean {
  const message = first.replace(/^\[[^\]]*\]\s*/, "");
  return message !== "" && line.endsWith(message);
}

/** A failure or pause between entries, as `sys_journal_events` has it. */
export interface EventFacts {
  readonly atMs: number;
  readonly kind: "failure" | "pause";
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly message: string | undefined;
  readonly stack: readonly string[];
}

const eventShape = z.looseObject({
  error_code: z.number().optional(),
  error_message: z.string().optional(),
  error_stacktrace: z.string().optional(),
  restate_doc_error_code: z.string().optional(),
});

/** Undefined when the row has an unknown shape. */
export function eventOf(row: SqlRow): EventFacts | undefined {
  const at = row["appended_at"];
  const text = row["event_json"];
  if (typeof at !== "string" || typeof text !== "string") return undefined;
  const json = parsedJson(text);
  const isPause = row["event_type"] === "Paused";
  const inner = isPause && typeof json === "object" && json !== null && "last_failure" in json ? json.last_failure : json;
  const read = eventShape.safeParse(inner ?? {});
  if (!read.success) return undefined;
  const failure = read.data;
  const { message, stack } = stackOf(failure.error_message, failure.error_stacktrace);
  return {
    atMs: momentMs(at),
    kind: isPause ? "pause" : "failure",
    code: failure.restate_doc_error_code,
    status: failure.error_code,
    message,
    stack,
  };
}

function stackOf(message: string | undefined, stacktrace: string | undefined) {
  if (stacktrace === undefined || stacktrace.trim() === "") return { message, stack: [] };
  return { message, stack: partsOf(`${message ?? ""}\n${stacktrace}`).stack };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The event that ended an attempt: the failure stored at the same millisecond. */
export function eventAt(events: readonly EventFacts[], atMs: number): EventFacts | undefined {
  return events.find((event) => event.kind === "failure" && event.atMs === atMs);
}
