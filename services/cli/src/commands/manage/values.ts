/** Parsers of flag values; an invalid value is refused with an example. */
import { readFileSync } from "node:fs";
import { parseDuration, parseInvocationId, present, scopeProblem } from "@perdure/base";
import { InvalidArgumentError } from "commander";

/** `--flag a --flag b`. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** `--flag name=value`, repeatable. */
export function pairs(value: string, before: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  const at = value.indexOf("=");
  if (at <= 0) throw new InvalidArgumentError("Write it as name=value.");
  return { ...before, [value.slice(0, at).trim()]: value.slice(at + 1) };
}

/** `--header 'name: value'`, or `name=value`. */
export function headers(value: string, before: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  const match = /^\s*([^:=\s]+)\s*[:=]\s*(.*)$/s.exec(value);
  if (match === null) throw new InvalidArgumentError("Write it as 'name: value'.");
  return { ...before, [present(match[1]).toLowerCase()]: present(match[2]) };
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${min}${max === Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`}.`);
  };
}

/** Milliseconds of `90s`, `1h30m`, `PT1H`. */
export function duration(text: string): number {
  const parsed = parseDuration(text);
  if (parsed.ok) return parsed.ms;
  throw new InvalidArgumentError(`${parsed.reason[0]?.toUpperCase()}${parsed.reason.slice(1)}.`);
}

/** A duration in the form of the API: validated, and as the user typed it. */
export function durationText(text: string): string {
  duration(text);
  return text;
}

export function oneOf<T extends string>(allowed: readonly T[]): (text: string, before: readonly T[] | undefined) => readonly T[] {
  return (text, before) => {
    const parts = text.split(",").map((part) => {
      const value = part.trim().toLowerCase();
      const one = allowed.find((candidate) => candidate === value);
      if (one === undefined) throw new InvalidArgumentError(`'${value}' is not one of ${allowed.join(", ")}.`);
      return one;
    });
    return [...(before ?? []), ...parts];
  };
}

/** A body: from the argument, from the file, or from stdin when the argument is `-`; undefined when none was given. */
export function bodyOf(argument: string | undefined, file: string | undefined): Uint8Array | undefined {
  if (file !== undefined) return readFileSync(file);
  if (argument === "-") return readFileSync(0);
  return argument === undefined ? undefined : Buffer.from(argument);
}

export function invocationId(text: string): string {
  if (parseInvocationId(text).ok) return text;
  throw new InvalidArgumentError(
    "Ids of invocations begin with inv_1 and have 38 characters. Find them: perdure invocations list",
  );
}

/** Target of a subscription: `Service/handler`, or a URI as the API takes it. */
export function sinkUri(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  if (/^[^/\s]+\/[^/\s]+$/.test(text)) return `service://${text}`;
  throw new InvalidArgumentError("Write Service/handler. The key of a record is the key of a virtual object or workflow.");
}

/** A scope and at most two levels of a limit key. */
const PATTERN_LEVELS_MAX = 3;

export function rulePattern(text: string): string {
  const levels = text.split("/");
  const isPattern =
    levels.length <= PATTERN_LEVELS_MAX && levels.every((level) => level === "*" || scopeProblem(level) === undefined);
  if (isPattern) return text;
  throw new InvalidArgumentError(
    "A pattern is a scope with up to two levels of a limit key, each of them * or a name: acme, acme/*, */*/*.",
  );
}

export interface EventFilterFlag {
  service?: string;
  handler?: string;
  scope?: string;
}

/** `--filter service=Shop --filter scope=acme`. */
export function eventFilter(text: string, before: EventFilterFlag | undefined): EventFilterFlag {
  const [name, ...rest] = text.trim().split("=");
  const value = rest.join("=");
  if (value !== "" && (name === "service" || name === "handler" || name === "scope")) return { ...before, [name]: value };
  throw new InvalidArgumentError("Write service=…, handler=… or scope=….");
}

/** Destination of events: `Service/handler`, or the address of a webhook. */
export function eventDestination(text: string): { service: string; handler: string } | { url: string } {
  if (/^https?:\/\//i.test(text)) return { url: text };
  const [service, handler, ...rest] = text.split("/");
  if (service && handler && rest.length === 0 && !/\s/.test(text)) return { service, handler };
  throw new InvalidArgumentError("Write Service/handler, or an address that begins with https://.");
}
