/** Formats log lines for a terminal: time, level, component, message, then the fields in grey; stack traces below. */

import { styleText } from "node:util";
import { jsonFields } from "@perdure/base";

const COLORS: ReadonlyMap<string, "gray" | "green" | "yellow" | "red"> = new Map([
  ["debug", "gray"],
  ["info", "green"],
  ["warn", "yellow"],
  ["error", "red"],
]);
/** Widths that keep sentences aligned for the components and levels there are. */
const LEVEL_CHARS = 5;
const COMPONENT_CHARS = 10;

type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Control characters but tab and line feed, which a terminal would execute: messages of errors quote untrusted text. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const CONTROLS_OR_BREAKS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;

/**
 * `json` is one line as pino writes it; the result ends in a newline. What others wrote breaks no line: it stands in JSON, or below and
 * indented.
 */
export function prettyLine(json: string, colors: boolean): string {
  const paint: Paint = colors ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
  const { ts, level, msg, component, service: _service, ...fields } = jsonFields(JSON.parse(json)) ?? {};
  const name = String(level);
  const color = COLORS.get(name) ?? "white";
  const head = [
    paint("gray", timeOfDay(String(ts))),
    paint(color, name.padEnd(LEVEL_CHARS)),
    paint("cyan", String(component ?? "").padEnd(COMPONENT_CHARS)),
    escaped(String(msg ?? "")),
  ].join(" ");
  const { inline, below } = splitFields(fields);
  const tail = inline.length === 0 ? "" : ` ${paint("gray", inline.join(" "))}`;
  return `${head}${tail}\n${below.map((block) => `${paint("gray", indent(block))}\n`).join("")}`;
}

function timeOfDay(iso: string): string {
  const at = new Date(iso);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

function splitFields(fields: Record<string, unknown>): { inline: string[]; below: string[] } {
  const inline: string[] = [];
  const below: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (isDescribedError(value)) {
      inline.push(`${name}=${escaped(JSON.stringify(value.message))}`);
      below.push(...stacksOf(value));
    } else {
      inline.push(`${name}=${typeof value === "string" && /^[\w.:/@+-]+$/.test(value) ? value : escaped(JSON.stringify(value))}`);
    }
  }
  return { inline, below };
}

type DescribedError = { message: string; stack: string; cause?: unknown };

function isDescribedError(value: unknown): value is DescribedError {
  return typeof value === "object" && value !== null && "stack" in value && typeof value.stack === "string";
}

function stacksOf(error: DescribedError): string[] {
  return isDescribedError(error.cause) ? [error.stack, `caused by ${stacksOf(error.cause).join("\n")}`] : [error.stack];
}

function indent(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROLS, "").replace(/^/gm, "    ");
}

/** JSON escapes the control characters of ASCII only. */
function escaped(text: string): string {
  return text.replace(CONTROLS_OR_BREAKS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
