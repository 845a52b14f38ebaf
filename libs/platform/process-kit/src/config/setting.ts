/**
 * Builders for the settings of a role. Each makes a zod schema that takes the text of a file, the environment or a flag ("1m", "32MiB",
 * "8080"), returns a plain value in one unit, and keeps the sentence, the unit and the default for `--print-config` and for messages. Every
 * setting has a default or may be absent.
 */
import { formatByteSize, formatDuration, jsonFields, parseByteSize, parseDuration } from "@perdure/base";
import { z } from "zod";

/** Facts about a setting beyond its value, for `--print-config` and messages. */
export interface SettingFacts {
  /** One sentence that describes the setting, with the unit where there is one. */
  readonly sentence: string;
  /** The value as TOML text; undefined when it is not set. Secrets come out as "***". */
  readonly show: (value: unknown) => string | undefined;
  /** How a value is read from one line of text (environment, flags): as it stands, or as TOML or JSON. */
  readonly form: "scalar" | "boolean" | "structure";
  /** The values that it accepts, for the reference: "duration", "one of running, suspended". */
  readonly accepts: string;
}

/** Facts by schema instance; a nested `group` has facts too, but its `show` is never called. */
export const settingFacts = z.registry<SettingFacts>();

type SettingOptions = { readonly sentence: string };

function withFacts<S extends z.ZodType>(schema: S, facts: SettingFacts): S {
  settingFacts.add(schema, facts);
  return schema;
}

const quoted = (value: unknown): string => JSON.stringify(String(value));
const plain = (value: unknown): string => String(value);
const orUnset =
  (show: (value: unknown) => string) =>
  (value: unknown): string | undefined =>
    value === undefined ? undefined : show(value);

/** A table of settings. */
export function group<S extends z.ZodRawShape>(sentence: string, shape: S) {
  // Every member has a default or is optional, so an empty table is a valid input; the compiler cannot derive that for a generic shape.
  const table = z.strictObject(shape).prefault({} as never);
  return withFacts(table, { sentence, show: () => undefined, form: "structure", accepts: "table" });
}

export function text(fallback: string, options: SettingOptions) {
  return withFacts(z.string().min(1, "must not be empty").prefault(fallback), {
    ...options,
    show: quoted,
    form: "scalar",
    accepts: "text",
  });
}

export function optionalText(options: SettingOptions) {
  return withFacts(z.string().min(1, "must not be empty").optional(), {
    ...options,
    show: orUnset(quoted),
    form: "scalar",
    accepts: "text",
  });
}

/** An address for browsers. */
export function webUrl(sentence: string) {
  const schema = z
    .string()
    .regex(/^https?:\/\/\S+$/, "must be an http or https address")
    .optional();
  return withFacts(schema, { sentence, show: orUnset(quoted), form: "scalar", accepts: "URL" });
}

/** An address for browsers, with `{traceId}` where that belongs. */
export function traceUrl(sentence: string) {
  const schema = z
    .string()
    .regex(/^https?:\/\/\S*\{traceId\}\S*$/, "must be an http or https address with {traceId} in it")
    .optional();
  return withFacts(schema, { sentence, show: orUnset(quoted), form: "scalar", accepts: "URL" });
}

export function boolean(fallback: boolean, options: SettingOptions) {
  const schema = z.union([z.boolean(), z.enum(["true", "false"])], { error: "must be true or false" });
  return withFacts(schema.transform((value) => value === true || value === "true").prefault(fallback), {
    ...options,
    show: plain,
    form: "boolean",
    accepts: "true or false",
  });
}

export function choice<const T extends readonly [string, ...string[]]>(values: T, fallback: T[number], options: SettingOptions) {
  const schema = z.enum(values, { error: `must be one of ${values.join(", ")}` });
  const accepts = `one of ${values.join(", ")}`;
  return withFacts(schema.prefault(fallback as never), { ...options, show: quoted, form: "scalar", accepts });
}

type NumberRange = { readonly min: number; readonly max?: number };

function acceptedNumbers({ min, max }: NumberRange, kind: string): string {
  return max === undefined ? `${kind}, at least ${min}` : `${kind}, ${min} to ${max}`;
}

function numberIn(range: NumberRange & { readonly whole: boolean }) {
  const kind = range.whole ? "a whole number" : "a number";
  const bounds = range.max === undefined ? `of at least ${range.min}` : `from ${range.min} to ${range.max}`;
  const error = `must be ${kind} ${bounds}`;
  const digits = range.whole ? /^-?\d+$/ : /^-?\d+(\.\d+)?$/;
  return z
    .union([z.number(), z.bigint().transform(Number), z.string().regex(digits, { error }).transform(Number)], { error })
    .refine((n) => n >= range.min && n <= (range.max ?? Number.MAX_SAFE_INTEGER) && (!range.whole || Number.isSafeInteger(n)), {
      error,
    });
}

export function integer(fallback: number, options: SettingOptions & NumberRange) {
  return withFacts(numberIn({ ...options, whole: true }).prefault(fallback), {
    sentence: options.sentence,
    show: plain,
    form: "scalar",
    accepts: acceptedNumbers(options, "whole number"),
  });
}

export function optionalInteger(options: SettingOptions & NumberRange) {
  return withFacts(numberIn({ ...options, whole: true }).optional(), {
    sentence: options.sentence,
    show: orUnset(plain),
    form: "scalar",
    accepts: acceptedNumbers(options, "whole number"),
  });
}

export function decimal(fallback: number, options: SettingOptions & NumberRange) {
  const show = (value: unknown) => (Number.isInteger(value) ? `${value}.0` : String(value));
  return withFacts(numberIn({ ...options, whole: false }).prefault(fallback), {
    sentence: options.sentence,
    show,
    form: "scalar",
    accepts: acceptedNumbers(options, "number"),
  });
}

export function port(fallback: number, options: SettingOptions) {
  return integer(fallback, { ...options, min: 0, max: 65_535 });
}

function durationText(minMs: number) {
  return z.string({ error: "must be a duration such as '1m' or '1h 30m', with a unit" }).transform((value, context) => {
    const parsed = parseDuration(value);
    if (parsed.ok && parsed.ms >= minMs) return parsed.ms;
    context.addIssue({ code: "custom", message: parsed.ok ? `must be at least ${formatDuration(minMs)}` : parsed.reason });
    return z.NEVER;
  });
}

const shownDuration = (value: unknown): string => quoted(formatDuration(Number(value)));

/** A duration; code gets milliseconds. */
export function duration(fallback: string, options: SettingOptions & { readonly minMs?: number }) {
  const facts = { sentence: options.sentence, show: shownDuration, form: "scalar", accepts: "duration" } as const;
  return withFacts(durationText(options.minMs ?? 0).prefault(fallback), facts);
}

export function optionalDuration(options: SettingOptions & { readonly minMs?: number }) {
  const facts = { sentence: options.sentence, show: orUnset(shownDuration), form: "scalar", accepts: "duration" } as const;
  return withFacts(durationText(options.minMs ?? 0).optional(), facts);
}

function byteSizeText() {
  return z
    .union([z.string(), z.number(), z.bigint().transform(Number)], { error: "must be a size such as '32MiB'" })
    .transform((value, context) => {
      const parsed = parseByteSize(value);
      if (parsed.ok && parsed.bytes > 0) return parsed.bytes;
      context.addIssue({ code: "custom", message: parsed.ok ? "must be more than zero" : parsed.reason });
      return z.NEVER;
    });
}

/** Exact when re-read: sizes that no unit divides are shown in bytes. */
function shownByteSize(value: unknown): string {
  const bytes = Number(value);
  const friendly = formatByteSize(bytes);
  const back = parseByteSize(friendly);
  return back.ok && back.bytes === bytes ? quoted(friendly) : String(bytes);
}

/** A size; code gets bytes. */
export function byteSize(fallback: string, options: SettingOptions) {
  return withFacts(byteSizeText().prefault(fallback), { ...options, show: shownByteSize, form: "scalar", accepts: "size" });
}

export function optionalByteSize(options: SettingOptions) {
  return withFacts(byteSizeText().optional(), { ...options, show: orUnset(shownByteSize), form: "scalar", accepts: "size" });
}

/** Names and texts, such as headers. `secret` hides the texts when shown. */
export function textMap(fallback: Readonly<Record<string, string>>, options: SettingOptions & { readonly secret?: boolean }) {
  const schema = z.record(z.string(), z.string(), { error: "must be a table of texts" }).prefault({ ...fallback });
  const show = (value: unknown) =>
    inlineTable(Object.entries(jsonFields(value) ?? {}).map(([key, text]) => [key, options.secret === true ? "***" : text]));
  return withFacts(schema, { sentence: options.sentence, show, form: "structure", accepts: "table of texts" });
}

interface CustomOptions<T> {
  readonly sentence: string;
  /** The value as TOML; only texts can do without. Undefined: not set. */
  readonly show?: (value: T) => string | undefined;
  /** `scalar`: one line of text is the value itself; by default it is read as TOML or JSON. */
  readonly form?: "scalar" | "structure";
}

/** Anything described by a zod schema of its own, which must have a default or be optional. */
export function custom<S extends z.ZodType>(schema: S, options: CustomOptions<z.output<S>>): S {
  const show = options.show === undefined ? orUnset(quoted) : (value: unknown) => options.show?.(value as z.output<S>);
  const form = options.form ?? "structure";
  // An instance for each setting: facts belong to an instance, and two settings may have the same form.
  return withFacts(schema.clone(), {
    sentence: options.sentence,
    show,
    form,
    accepts: form === "scalar" ? "text" : "TOML or JSON",
  });
}

/** `{ a = "b" }` */
export function inlineTable(entries: readonly (readonly [string, unknown])[]): string {
  if (entries.length === 0) return "{}";
  return `{ ${entries.map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}`).join(", ")} }`;
}

function tomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

/** A value made of texts, numbers, booleans and lists of them. */
export function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : JSON.stringify(String(value));
}
