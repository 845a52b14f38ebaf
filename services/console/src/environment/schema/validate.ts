/**
 * Validates an input against the handler's schema before it is sent. It supports the keywords that SDKs write; unknown keywords allow
 * anything. Pure.
 */
import { isRecord } from "../../kit/problem-text.js";
import { type JsonSchema, listOf, numberIn, read, recordOf, requiredOf, textIn } from "./json-schema.js";

export interface SchemaProblem {
  /** `lines[0].amount`; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** Maximum number of errors: more than a user corrects at a time. */
const PROBLEMS_MAX = 20;
const DEPTH_MAX = 64;

export function problemsOf(value: unknown, root: unknown): readonly SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  check(value, root, root, "", 0, (path, message) => {
    if (problems.length < PROBLEMS_MAX) problems.push({ path, message });
  });
  return problems;
}

type ReportProblem = (path: string, message: string) => void;

export const fieldPath = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
export const itemPath = (path: string, index: number): string => `${path}[${index}]`;

function check(value: unknown, part: unknown, root: unknown, path: string, depth: number, report: ReportProblem): void {
  if (depth > DEPTH_MAX) return;
  const { schema, types, isNullable, choices } = read(part, root);
  if (value === null && isNullable) return;
  if (choices.length > 0 && !choices.some((choice) => fits(value, choice, root, depth))) {
    const meant = closest(value, choices, root, depth);
    if (meant === undefined) return report(path, "matches none of the allowed variants");
    check(value, meant, root, path, depth + 1, report);
  }
  if ("const" in schema && !isSame(value, schema["const"])) return report(path, `must be ${JSON.stringify(schema["const"])}`);
  const values = listOf(schema["enum"]);
  if (values.length > 0 && !values.some((each) => isSame(value, each))) {
    return report(path, `must be one of ${values.map((each) => JSON.stringify(each)).join(", ")}`);
  }
  if (types.length > 0 && !types.some((type) => isOfType(value, type)))
    return report(path, `must be ${types.map(withArticle).join(" or ")}`);
  if (typeof value === "string") checkText(value, schema, path, report);
  else if (typeof value === "number") checkNumber(value, schema, path, report);
  else if (Array.isArray(value)) checkList(value, schema, root, path, depth, report);
  else if (isRecord(value)) checkObject(value, schema, root, path, depth, report);
}

function fits(value: unknown, part: unknown, root: unknown, depth: number): boolean {
  let isFine = true;
  check(value, part, root, "", depth + 1, () => {
    isFine = false;
  });
  return isFine;
}

/** The variant with the fewest problems among those that the value does not contradict. */
function closest(value: unknown, choices: readonly JsonSchema[], root: unknown, depth: number): JsonSchema | undefined {
  const counted = choices
    .filter((choice) => !contradicts(value, choice, root))
    .map((choice) => ({ choice, count: problemCount(value, choice, root, depth) }));
  return counted.sort((a, b) => a.count - b.count)[0]?.choice;
}

/** Number of errors of the value against this part. */
export function problemCount(value: unknown, part: unknown, root: unknown, depth = 0): number {
  let count = 0;
  check(value, part, root, "", depth + 1, () => {
    count++;
  });
  return count;
}

/** Whether the value is of another type, or has a field whose only allowed value is another: it does not match this variant. */
export function contradicts(value: unknown, part: unknown, root: unknown): boolean {
  const { schema, types, isNullable, choices } = read(part, root);
  if (value === null && isNullable) return false;
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return true;
  if (!isOnly(value, schema)) return true;
  if (choices.length > 0 && choices.every((choice) => contradictsFlatly(value, choice, root))) return true;
  return hasOtherTag(value, schema, root);
}

/** Unions within unions are checked to a depth of one. */
function contradictsFlatly(value: unknown, part: unknown, root: unknown): boolean {
  const { schema, types } = read(part, root);
  const isOther = types.length > 0 && !types.some((type) => isOfType(value, type));
  return isOther || !isOnly(value, schema) || hasOtherTag(value, schema, root);
}

/** False when the schema allows one value, and it is another. */
function isOnly(value: unknown, schema: JsonSchema): boolean {
  const values = "const" in schema ? [schema["const"]] : listOf(schema["enum"]);
  return values.length !== 1 || isSame(value, values[0]);
}

function hasOtherTag(value: unknown, schema: JsonSchema, root: unknown): boolean {
  const fields = recordOf(value);
  return Object.entries(recordOf(schema["properties"])).some(
    ([name, each]) => Object.hasOwn(fields, name) && !isOnly(fields[name], read(each, root).schema),
  );
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "string":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

const ARTICLES: Readonly<Record<string, string>> = {
  integer: "an integer",
  number: "a number",
  array: "a list",
  object: "an object",
  string: "a string",
  boolean: "true or false",
};

const withArticle = (type: string): string => ARTICLES[type] ?? type;

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

function checkText(value: string, schema: JsonSchema, path: string, report: ReportProblem): void {
  const [least, most] = [numberIn(schema, "minLength"), numberIn(schema, "maxLength")];
  const length = [...value].length;
  if (least !== undefined && length < least)
    report(path, least === 1 ? "must not be empty" : `must have at least ${least} characters`);
  if (most !== undefined && length > most) report(path, `must have at most ${countOf(most, "character")}`);
  const pattern = textIn(schema, "pattern");
  const expression = pattern === undefined ? undefined : expressionOf(pattern);
  if (expression?.test(value) === false) report(path, `must match /${pattern}/`);
  const format = textIn(schema, "format");
  if (format !== undefined && FORMATS[format]?.(value) === false) report(path, `must be of the format ${format}`);
}

/** Patterns of other regular expression dialects may be invalid here: they are not checked. */
function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, "u");
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text),
  url: (text) => URL.canParse(text),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text) => /^\d{4}-\d\d-\d\d[tT ]\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text)),
};

function checkNumber(value: number, schema: JsonSchema, path: string, report: ReportProblem): void {
  const of = (keyword: string) => numberIn(schema, keyword);
  const [least, most, above, below, step] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"].map(of);
  if (least !== undefined && value < least) report(path, `must be at least ${least}`);
  if (most !== undefined && value > most) report(path, `must be at most ${most}`);
  if (above !== undefined && value <= above) report(path, `must be more than ${above}`);
  if (below !== undefined && value >= below) report(path, `must be less than ${below}`);
  // 0.3 counts as three times 0.1, although it is not in doubles.
  if (step !== undefined && step > 0 && Math.abs(value / step - Math.round(value / step)) > 1e-9)
    report(path, `must be a multiple of ${step}`);
}

function checkList(
  value: readonly unknown[],
  schema: JsonSchema,
  root: unknown,
  path: string,
  depth: number,
  report: ReportProblem,
): void {
  const [least, most] = [numberIn(schema, "minItems"), numberIn(schema, "maxItems")];
  if (least !== undefined && value.length < least) report(path, `must have at least ${countOf(least, "item")}`);
  if (most !== undefined && value.length > most) report(path, `must have at most ${countOf(most, "item")}`);
  if (schema["uniqueItems"] === true && new Set(value.map((each) => JSON.stringify(each))).size < value.length)
    report(path, "must not have duplicate items");
  const first = listOf(schema["prefixItems"]);
  for (const [i, item] of value.entries()) {
    const part = i < first.length ? first[i] : schema["items"];
    if (part === false) report(itemPath(path, i), "is not allowed");
    else if (part !== undefined) check(item, part, root, itemPath(path, i), depth + 1, report);
  }
}

function checkObject(
  value: JsonSchema,
  schema: JsonSchema,
  root: unknown,
  path: string,
  depth: number,
  report: ReportProblem,
): void {
  const properties = recordOf(schema["properties"]);
  for (const name of requiredOf(schema)) if (!Object.hasOwn(value, name)) report(fieldPath(path, name), "is required");
  const others = schema["additionalProperties"];
  const isPatterned = "patternProperties" in schema;
  for (const [name, each] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) check(each, properties[name], root, fieldPath(path, name), depth + 1, report);
    else if (others === false && !isPatterned) report(fieldPath(path, name), "is not allowed");
    else if (typeof others === "object" && others !== null) check(each, others, root, fieldPath(path, name), depth + 1, report);
  }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
