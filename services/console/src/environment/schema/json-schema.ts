/**
 * Handlers declare with a JSON schema what they take and return. SDKs write it in many ways (references, nullable in four spellings,
 * `allOf` of one); pages get one form. Nothing outside of the document is ever fetched. Pure.
 */
import { isRecord } from "../../kit/problem-text.js";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** References of references: longer chains are circles. */
const REFERENCES_MAX = 16;

/** A part of a schema in normal form: references followed, `allOf` joined, one form of nullable. */
interface Reading {
  readonly schema: JsonSchema;
  /** `string`, `object` …, without `null`; empty when any are allowed. */
  readonly types: readonly string[];
  readonly isNullable: boolean;
  /** Several variants are possible: only a value decides which. */
  readonly choices: readonly JsonSchema[];
}

/** `part` belongs to `root`, whose definitions its references name. */
export function read(part: unknown, root: unknown): Reading {
  let schema = joined(resolved(part, root), root);
  let isNullable = schema["nullable"] === true;
  let choices = choicesOf(schema);
  const others = choices.filter((each) => !isNull(resolved(each, root)));
  if (others.length < choices.length) isNullable = true;
  choices = others;
  // `X or null` is X that may be null; `X` with annotations beside it is X with these annotations.
  const [only] = choices;
  if (choices.length === 1 && only !== undefined) {
    const { anyOf: _any, oneOf: _one, ...keywords } = schema;
    const inner = read(only, root);
    schema = { ...inner.schema, ...keywords };
    choices = inner.choices;
    isNullable ||= inner.isNullable;
  }
  const types = typesOf(schema);
  return { schema, types: types.filter((type) => type !== "null"), isNullable: isNullable || types.includes("null"), choices };
}

/** Follows `$ref` within the document; a reference without a target allows anything. */
function resolved(part: unknown, root: unknown): JsonSchema {
  let at = part;
  let keywords: JsonSchema = {};
  for (let i = 0; i < REFERENCES_MAX; i++) {
    if (!isRecord(at)) return at === false ? { not: {} } : keywords;
    const { $ref, ...others } = at;
    keywords = { ...others, ...keywords };
    if (typeof $ref !== "string") return keywords;
    at = pointed(root, $ref);
  }
  return keywords;
}

/** `#/$defs/Order`; undefined for other documents. */
function pointed(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  let at = root;
  for (const token of reference.slice(1).split("/").slice(1)) {
    const name = decoded(token).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isRecord(at) ? at[name] : undefined;
  }
  return at;
}

function decoded(token: string): string {
  return /%(?![0-9a-f]{2})/i.test(token) ? token : decodeURIComponent(token);
}

/** Parts of `allOf` become one: properties and required fields add up, of other keywords the outermost applies. */
function joined(schema: JsonSchema, root: unknown, depth = 0): JsonSchema {
  const parts = listOf(schema["allOf"]);
  if (parts.length === 0 || depth > REFERENCES_MAX) return schema;
  const { allOf: _all, ...own } = schema;
  let sum: JsonSchema = own;
  for (const part of parts) {
    const one = joined(resolved(part, root), root, depth + 1);
    const properties = { ...recordOf(one["properties"]), ...recordOf(sum["properties"]) };
    const required = [...new Set([...requiredOf(one), ...requiredOf(sum)])];
    sum = {
      ...one,
      ...sum,
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.length === 0 ? {} : { required }),
    };
  }
  return sum;
}

function choicesOf(schema: JsonSchema): readonly JsonSchema[] {
  const all = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])];
  return all.filter(isRecord);
}

const isNull = (schema: JsonSchema): boolean => schema["type"] === "null" || ("const" in schema && schema["const"] === null);

function typesOf(schema: JsonSchema): readonly string[] {
  const { type } = schema;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((each): each is string => typeof each === "string");
  if ("properties" in schema) return ["object"];
  if ("items" in schema || "prefixItems" in schema) return ["array"];
  return [];
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function recordOf(value: unknown): JsonSchema {
  return isRecord(value) ? value : {};
}

export function requiredOf(schema: JsonSchema): readonly string[] {
  return listOf(schema["required"]).filter((name): name is string => typeof name === "string");
}

export function textIn(schema: JsonSchema, keyword: string): string | undefined {
  const value = schema[keyword];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function numberIn(schema: JsonSchema, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === "number" ? value : undefined;
}
