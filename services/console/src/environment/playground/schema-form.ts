/** Builds forms from a handler's JSON schema: which field belongs to which part, and how an input changes the value. Pure. */
import { FORMATS } from "../schema/example.js";
import { listOf, read, recordOf, requiredOf, textIn } from "../schema/json-schema.js";
import { schemaTypeText } from "../schema/schema-lines.js";
import { type Variant, variantsOf } from "../schema/variants.js";

interface NamedPart {
  readonly name: string;
  readonly part: unknown;
  readonly isRequired: boolean;
}

export type FormFieldKind =
  | { readonly kind: "text"; readonly isLong: boolean }
  | { readonly kind: "number"; readonly isWhole: boolean }
  | { readonly kind: "yesNo" }
  | { readonly kind: "choice"; readonly values: readonly unknown[] }
  | { readonly kind: "list"; readonly item: unknown }
  | { readonly kind: "group"; readonly parts: readonly NamedPart[] }
  /** One of several forms. */
  | { readonly kind: "variant"; readonly variants: readonly Variant[] }
  /** No simpler field fits, so the value is entered as JSON. */
  | { readonly kind: "json" };

export interface FieldShape {
  readonly field: FormFieldKind;
  readonly isNullable: boolean;
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** `default "normal"`, when there is one. */
  readonly defaultText: string | undefined;
  /** `date-time, such as 2026-01-31T12:00:00Z`, of a text with a format. */
  readonly formatText: string | undefined;
  /** `integer or null`. */
  readonly typeText: string;
}

/** Depth of nested forms: deeper ones are entered as JSON, and so are recursive schemas. */
const DEPTH_MAX = 5;
/** A text that may be longer than this gets more than a line. */
const LINE_CHARS = 200;

export function fieldShape(part: unknown, root: unknown, depth = 0): FieldShape {
  const { schema, isNullable } = read(part, root);
  const standard = schema["default"];
  return {
    field: kindOf(part, root, depth),
    isNullable,
    title: textIn(schema, "title"),
    description: textIn(schema, "description"),
    defaultText: standard === undefined ? undefined : `default ${JSON.stringify(standard)}`,
    formatText: formatText(textIn(schema, "format")),
    typeText: schemaTypeText(part, root),
  };
}

function formatText(format: string | undefined): string | undefined {
  const example = format === undefined ? undefined : FORMATS[format];
  return example === undefined ? format : `${format}, such as ${example}`;
}

function kindOf(part: unknown, root: unknown, depth: number): FormFieldKind {
  const { schema, types, choices } = read(part, root);
  if ("const" in schema) return { kind: "choice", values: [schema["const"]] };
  const values = listOf(schema["enum"]).filter((value) => value !== null);
  if (values.length > 0) return { kind: "choice", values };
  if (choices.length > 0) {
    const fixed = choices.map((choice) => read(choice, root).schema);
    // Unions of literals are written as a choice of constants.
    if (fixed.every((each) => "const" in each)) return { kind: "choice", values: fixed.map((each) => each["const"]) };
  }
  const [type] = types;
  if (choices.length > 0 || types.length > 1) return variantKindOf(part, root, depth);
  if (types.length !== 1 || type === undefined || depth > DEPTH_MAX) return { kind: "json" };
  switch (type) {
    case "string":
      return { kind: "text", isLong: Number(schema["maxLength"] ?? 0) > LINE_CHARS };
    case "integer":
      return { kind: "number", isWhole: true };
    case "number":
      return { kind: "number", isWhole: false };
    case "boolean":
      return { kind: "yesNo" };
    case "array":
      return schema["items"] === undefined || typeof schema["items"] === "boolean" || "prefixItems" in schema
        ? { kind: "json" }
        : { kind: "list", item: schema["items"] };
    case "object": {
      const required = requiredOf(schema);
      const parts = Object.entries(recordOf(schema["properties"])).map(([name, each]) => ({
        name,
        part: each,
        isRequired: required.includes(name),
      }));
      return parts.length === 0 ? { kind: "json" } : { kind: "group", parts };
    }
    default:
      return { kind: "json" };
  }
}

/** Variants of which none has a form are written as JSON. */
function variantKindOf(part: unknown, root: unknown, depth: number): FormFieldKind {
  if (depth > DEPTH_MAX) return { kind: "json" };
  const variants = variantsOf(part, root);
  const hasForms = variants.some((each) => kindOf(each.part, root, depth + 1).kind !== "json");
  return hasForms ? { kind: "variant", variants } : { kind: "json" };
}

/** Whether a form shows more than the JSON beside it. */
export function hasForm(root: unknown): boolean {
  return root !== undefined && kindOf(root, root, 0).kind !== "json";
}

/** The object with one field set, in its old place; `undefined` removes it. A value that is not an object becomes one. */
export function withField(value: unknown, name: string, field: unknown): Readonly<Record<string, unknown>> {
  const entries = Object.entries(recordOf(value));
  const changed =
    field === undefined
      ? entries.filter(([key]) => key !== name)
      : entries.some(([key]) => key === name)
        ? entries.map(([key, old]) => [key, key === name ? field : old] as const)
        : [...entries, [name, field] as const];
  return Object.fromEntries(changed);
}

/** The list with one item set; `undefined` takes it out. */
export function withItem(value: unknown, index: number, item: unknown): readonly unknown[] {
  const items = listOf(value);
  return item === undefined ? items.filter((_, i) => i !== index) : items.with(index, item);
}

/** Number in a field; undefined while the text is not a number. */
export function numberOfText(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed)) return undefined;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : undefined;
}

type FormBody =
  | { readonly kind: "none" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "broken"; readonly problem: string };

/** The body as JSON. */
export function readBody(text: string): FormBody {
  if (text.trim() === "") return { kind: "none" };
  try {
    return { kind: "value", value: JSON.parse(text) as unknown };
  } catch (cause) {
    if (cause instanceof SyntaxError) return { kind: "broken", problem: cause.message };
    throw cause;
  }
}

/** Whether the text has whole numbers that JavaScript would round: a form, which writes the value anew, would change them. */
export function isRounded(text: string): boolean {
  return (text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/(?<![\d.])-?\d{16,}(?![\d.eE])/g) ?? []).some(
    (digits) => !Number.isSafeInteger(Number(digits)),
  );
}

/** A value as a formatted body. */
export function bodyOf(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}
