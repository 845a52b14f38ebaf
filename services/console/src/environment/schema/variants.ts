/**
 * A union (`oneOf`, `anyOf`, several types) is entered as one of its variants. Lists the variants, and finds the one that a value belongs
 * to. Pure.
 */
import { type JsonSchema, listOf, read, recordOf, requiredOf, textIn } from "./json-schema.js";
import { schemaTypeText } from "./schema-lines.js";
import { contradicts, problemCount } from "./validate.js";

export interface Variant {
  /** Title of the variant, the value that distinguishes it from the others, or its type; different for each. */
  readonly label: string;
  readonly part: unknown;
}

/** Returns the variants, at least two; none for a schema without a union. */
export function variantsOf(part: unknown, root: unknown): readonly Variant[] {
  const { schema, types, choices } = read(part, root);
  const parts =
    choices.length > 1
      ? choices.map((choice) => withCommon(schema, choice))
      : types.length > 1
        ? types.map((type) => ({ ...schema, type }))
        : [];
  const labels = parts.map((each) => labelOf(each, root));
  return parts.map((each, i) => {
    const label = labels[i] ?? "";
    return { label: labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} ${i + 1}`, part: each };
  });
}

/** Fields beside the union belong to each variant. */
function withCommon(schema: JsonSchema, choice: JsonSchema): unknown {
  const properties = schema["properties"];
  if (properties === undefined) return choice;
  return { allOf: [choice, { type: "object", properties, required: requiredOf(schema) }] };
}

function labelOf(part: unknown, root: unknown): string {
  const { schema } = read(part, root);
  return textIn(schema, "title") ?? tagOf(schema, root) ?? schemaTypeText(part, root);
}

/** `card` of `{ kind: { const: "card" }, … }`. */
function tagOf(schema: JsonSchema, root: unknown): string | undefined {
  for (const each of Object.values(recordOf(schema["properties"]))) {
    const { schema: property } = read(each, root);
    const value = "const" in property ? property["const"] : onlyOf(listOf(property["enum"]));
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

const onlyOf = (values: readonly unknown[]): unknown => (values.length === 1 ? values[0] : undefined);

/**
 * Which variant the value is of: among those that its type and its tags allow, `preferred`, or the one with the fewest problems.
 * Without a value, `preferred` or the first.
 */
export function variantAt(value: unknown, variants: readonly Variant[], root: unknown, preferred?: number): number {
  const possible = variants
    .map(({ part }, at) => ({ part, at }))
    .filter(({ part }) => value === undefined || !contradicts(value, part, root));
  if (possible.length === 0) return preferred ?? 0;
  if (preferred !== undefined && possible.some(({ at }) => at === preferred)) return preferred;
  const counted = possible.map(({ part, at }) => ({ at, count: value === undefined ? 0 : problemCount(value, part, root) }));
  const least = Math.min(...counted.map(({ count }) => count));
  return counted.find(({ count }) => count === least)?.at ?? 0;
}
