/** Values of rows and bytes as text, the same in every list. */

import { isUtf8 } from "node:buffer";
import type { SqlRow } from "@perdure/admin-client";
import { showBytes, showCount, showWhen } from "../../output/index.js";
import { harmless } from "./connect.js";

/** A column as text; undefined when it is null. */
export function textOf(row: SqlRow, column: string): string | undefined {
  const value = row[column];
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function numberOf(row: SqlRow, column: string): number | undefined {
  const value = row[column];
  return typeof value === "number" ? value : undefined;
}

/** `5m ago`, of an RFC 3339 text. */
export function whenOf(text: string | null | undefined, nowMs: number): string | undefined {
  if (text === null || text === undefined) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? text : showWhen(atMs, nowMs);
}

/** The first line, at most so many characters. */
export function firstLine(text: string | undefined, chars = 100): string | undefined {
  const line = text === undefined ? undefined : harmless(text.split("\n", 1)[0] ?? "");
  return line === undefined || line.length <= chars ? line : `${line.slice(0, chars - 1)}…`;
}

/** `1 invocation`, `3 invocations`. */
export function invocationsText(count: number): string {
  return `${showCount(count)} invocation${count === 1 ? "" : "s"}`;
}

/** Returns JSON on one line or several when the bytes are JSON, text when they are UTF-8, else a text with their number. */
export function bytesText(bytes: Uint8Array, indent?: number): string {
  if (!isUtf8(bytes)) return `(${showBytes(bytes.length)} of binary data)`;
  const text = Buffer.from(bytes).toString();
  const value = jsonOf(text);
  return value === undefined ? text : JSON.stringify(value, undefined, indent);
}

/** Returns the bytes for `--json`: the value when they are JSON, a text when they are UTF-8, else `{ base64 }`. */
export function bytesJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) return { base64: Buffer.from(bytes).toString("base64") };
  const text = Buffer.from(bytes).toString();
  return text === "" ? null : (jsonOf(text) ?? text);
}

/** Undefined when the text is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
