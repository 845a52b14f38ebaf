/**
 * Edits TOML in its text. The official command line's file belongs to the user, with comments and an order (cloud.md §1.7), so strings of
 * some tables are set in the text and every other byte stays. The result is parsed and compared with the expected content; if it differs, a
 * library for all of TOML makes the change instead.
 */

import { isDeepStrictEqual } from "node:util";
import { parse, patch, TomlFormat } from "@decimalturn/toml-patch";
import { present } from "@perdure/base";

/** One string of one table; `undefined` removes it. */
export interface TomlEdit {
  readonly table: readonly string[];
  readonly key: string;
  readonly value: string | undefined;
}

export type TomlTable = { [key: string]: unknown };

/** Throws when the text is not TOML. */
export function parseToml(text: string): TomlTable {
  const table: unknown = parse(text);
  if (!isTable(table)) throw new Error("the text has no table");
  return table;
}

/** The text with these edits. Throws when the text is not TOML, or when the place of a table has another value. */
export function editToml(text: string, edits: readonly TomlEdit[]): string {
  const expected = parseToml(text);
  for (const edit of edits) applyTo(expected, edit);
  let edited = text;
  for (const edit of edits) edited = editText(edited, edit);
  if (isToml(edited, expected)) return edited;
  const format = TomlFormat.autoDetectFormat(text);
  format.inlineTableStart = 2;
  const patched = patch(text, expected, format);
  if (!isToml(patched, expected)) throw new Error("the file is written in a way that cannot be edited safely");
  return patched;
}

export function tableAt(root: TomlTable, path: readonly string[]): TomlTable | undefined {
  let table: TomlTable | undefined = root;
  for (const name of path) {
    const next: unknown = table?.[name];
    table = isTable(next) ? next : undefined;
  }
  return table;
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function applyTo(root: TomlTable, { table: path, key, value }: TomlEdit): void {
  let table = root;
  for (const name of path) {
    const next = table[name];
    if (next !== undefined && !isTable(next)) throw new Error(`'${name}' is not a table`);
    if (next === undefined && value === undefined) return;
    const inner = next ?? (Object.create(Object.getPrototypeOf(root)) as TomlTable); // With the same prototype as the tables of the parser.
    table[name] = inner;
    table = inner;
  }
  if (value === undefined) delete table[key];
  else table[key] = value;
}

function isToml(text: string, expected: TomlTable): boolean {
  try {
    return isDeepStrictEqual(parseToml(text), expected);
  } catch {
    return false; // Not TOML any more: the text has constructs that the edit does not support.
  }
}

// ── edits of the text ────────────────────────────────────────────────────────────────────────────

const HEADER = /^[ \t]*\[([^[\]]+)\][ \t]*(?:#.*)?$/;
const ARRAY_HEADER = /^[ \t]*\[\[/;
const HEADER_KEY = /[ \t]*(?:([A-Za-z0-9_-]+)|"([^"\\]*)"|'([^']*)')[ \t]*(?:\.|$)/y;
const BLANK_OR_COMMENT = /^[ \t]*(?:#.*)?$/;

function editText(text: string, { table, key, value }: TomlEdit): string {
  const newLine = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = text.split(/\r?\n/);
  const header = lines.findIndex((line) => isHeaderOf(line, table));
  if (header < 0) return value === undefined ? text : appended(text, table, `${keyText(key)} = ${stringText(value)}`, newLine);
  let end = lines.findIndex((line, at) => at > header && (HEADER.test(line) || ARRAY_HEADER.test(line)));
  if (end < 0) end = lines.length;

  const assignment = assignmentOf(key);
  const at = lines.findIndex((line, index) => index > header && index < end && assignment.test(line));
  if (at >= 0 && value === undefined) lines.splice(at, 1);
  else if (at >= 0)
    lines[at] = present(lines[at]).replace(assignment, (_, before, __, after) => before + stringText(value ?? "") + after);
  else if (value !== undefined) {
    let last = end - 1;
    while (last > header && BLANK_OR_COMMENT.test(present(lines[last]))) last--;
    lines.splice(last + 1, 0, `${keyText(key)} = ${stringText(value)}`);
  }
  return joined(text, lines, newLine);
}

/** One file may have both kinds of line ends; existing lines keep theirs. */
function joined(text: string, lines: readonly string[], newLine: string): string {
  return text.includes("\r\n") && /(?<!\r)\n/.test(text) ? lines.join("\n") : lines.join(newLine);
}

function appended(text: string, table: readonly string[], line: string, newLine: string): string {
  let gap = newLine;
  if (text === "") gap = "";
  else if (!text.endsWith("\n")) gap = newLine + newLine;
  return `${text}${gap}[${table.map(keyText).join(".")}]${newLine}${line}${newLine}`;
}

function isHeaderOf(line: string, table: readonly string[]): boolean {
  const inner = HEADER.exec(line)?.[1];
  if (inner === undefined) return false;
  const names: string[] = [];
  HEADER_KEY.lastIndex = 0;
  while (HEADER_KEY.lastIndex < inner.length) {
    const match = HEADER_KEY.exec(inner);
    if (match === null) return false;
    names.push(match[1] ?? match[2] ?? match[3] ?? "");
  }
  return names.length === table.length && names.every((name, index) => name === table[index]);
}

/** Matches a one-line string with this key; the surrounding text is kept. */
function assignmentOf(key: string): RegExp {
  const name = key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^([ \\t]*(?:${name}|"${name}"|'${name}')[ \\t]*=[ \\t]*)("(?:[^"\\\\]|\\\\.)*"|'[^']*')([ \\t]*(?:#.*)?)$`);
}

function keyText(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : stringText(name);
}

/** A basic string of TOML, which accepts the escapes of JSON. */
function stringText(value: string): string {
  return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
}
