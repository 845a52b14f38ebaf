/** A JSON schema as lines: one for each field, with its type, whether it is required, and its limits. Pure. */
import { type JsonSchema, listOf, numberIn, read, recordOf, requiredOf, textIn } from "./json-schema.js";

export interface SchemaLine {
  /** `lines[].amount`; empty for the value itself. */
  readonly path: string;
  /** `integer`, `list of string`, `one of "a", "b"`, `string or null`. */
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string | undefined;
  /** `1 to 10,000`, `default "normal"`. */
  readonly limits: readonly string[];
}

/** Enough for a typical handler; larger schemas are shown raw. */
export const LINES_MAX = 200;
const DEPTH_MAX = 8;

export function schemaLines(root: unknown): readonly SchemaLine[] {
  const lines: SchemaLine[] = [];
  addLines(root, root, "", true, 0, lines);
  return lines;
}

function addLines(part: unknown, root: unknown, path: string, isRequired: boolean, depth: number, lines: SchemaLine[]): void {
  if (lines.length >= LINES_MAX || depth > DEPTH_MAX) return;
  const { schema, types } = read(part, root);
  const properties = Object.entries(recordOf(schema["properties"]));
  // The fields of an object at the top describe it completely.
  if (path !== "" || properties.length === 0) {
    lines.push({
      path,
      type: schemaTypeText(part, root),
      isRequired,
      description: textIn(schema, "description"),
      limits: limitsOf(schema),
    });
  }
  const required = requiredOf(schema);
  for (const [name, each] of properties) {
    addLines(each, root, path === "" ? name : `${path}.${name}`, required.includes(name), depth + 1, lines);
  }
  if (types.includes("array") && hasFields(schema["items"], root)) {
    const item = read(schema["items"], root).schema;
    const itemRequired = requiredOf(item);
    for (const [name, each] of Object.entries(recordOf(item["properties"]))) {
      addLines(each, root, `${path}[].${name}`, itemRequired.includes(name), depth + 1, lines);
    }
  }
}

function hasFields(part: unknown, root: unknown): boolean {
  return part !== undefined && Object.keys(recordOf(read(part, root).schema["properties"])).length > 0;
}

export function schemaTypeText(part: unknown, root: unknown, depth = 0): string {
  const { schema, types, isNullable, choices } = read(part, root);
  const text = depth > DEPTH_MAX ? "…" : plainTypeText(schema, types, choices, root, depth);
  return isNullable ? `${text} or null` : text;
}

function plainTypeText(
  schema: JsonSchema,
  types: readonly string[],
  choices: readonly JsonSchema[],
  root: unknown,
  depth: number,
): string {
  if ("const" in schema) return JSON.stringify(schema["const"]);
  const values = listOf(schema["enum"]).filter((value) => value !== null);
  if (values.length > 0) return `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
  if (choices.length > 0) return [...new Set(choices.map((each) => schemaTypeText(each, root, depth + 1)))].join(" or ");
  if (types.length === 0) return "anything";
  return types.map((type) => oneType(type, schema, root, depth)).join(" or ");
}

function oneType(type: string, schema: JsonSchema, root: unknown, depth: number): string {
  if (type === "array")
    return schema["items"] === undefined ? "list" : `list of ${schemaTypeText(schema["items"], root, depth + 1)}`;
  if (type === "string") return textIn(schema, "format") ?? "string";
  return type;
}

function limitsOf(schema: JsonSchema): readonly string[] {
  const limits: string[] = [];
  const range = (least: number | undefined, most: number | undefined, noun?: string) => {
    const last = most ?? least;
    const unit = noun === undefined ? "" : ` ${noun}${last === 1 ? "" : "s"}`;
    const [low, high] = [least?.toLocaleString("en"), most?.toLocaleString("en")];
    if (low !== undefined && high !== undefined) limits.push(`${low} to ${high}${unit}`);
    else if (low !== undefined) limits.push(`at least ${low}${unit}`);
    else if (high !== undefined) limits.push(`at most ${high}${unit}`);
  };
  range(numberIn(schema, "minimum"), safe(numberIn(schema, "maximum")));
  const [above, below] = [numberIn(schema, "exclusiveMinimum"), numberIn(schema, "exclusiveMaximum")];
  if (above !== undefined) limits.push(`more than ${above.toLocaleString("en")}`);
  if (below !== undefined) limits.push(`less than ${below.toLocaleString("en")}`);
  range(numberIn(schema, "minLength"), numberIn(schema, "maxLength"), "character");
  range(numberIn(schema, "minItems"), numberIn(schema, "maxItems"), "item");
  const pattern = textIn(schema, "pattern");
  // Generators write the pattern of a format in full; the format is already the type of the line.
  if (pattern !== undefined && textIn(schema, "format") === undefined) limits.push(`pattern /${pattern}/`);
  if (schema["default"] !== undefined) limits.push(`default ${JSON.stringify(schema["default"])}`);
  return limits;
}

/** Libraries give integers the bounds of doubles, which are not useful to a reader. */
function safe(bound: number | undefined): number | undefined {
  return bound === Number.MAX_SAFE_INTEGER ? undefined : bound;
}
