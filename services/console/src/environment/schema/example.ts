/** An initial value of a schema: required fields and defaults. Pure. */
import { type JsonSchema, listOf, numberIn, read, recordOf, requiredOf, textIn } from "./json-schema.js";
import { textOfPattern } from "./pattern-text.js";
import { variantsOf } from "./variants.js";

/** A recursive schema ends at a maximum depth. */
const DEPTH_MAX = 8;

/** `{}` where the schema is missing. */
export function exampleOf(root: unknown): unknown {
  return root === undefined ? {} : exampleOfPart(root, root, 0);
}

export function exampleOfPart(part: unknown, root: unknown, depth = 0): unknown {
  const { schema, types, isNullable } = read(part, root);
  if (schema["default"] !== undefined) return schema["default"];
  if ("const" in schema) return schema["const"];
  const [example] = listOf(schema["examples"]);
  if (example !== undefined) return example;
  const [value] = listOf(schema["enum"]);
  if (value !== undefined) return value;
  if (isNullable || depth > DEPTH_MAX) return null;
  const [variant] = variantsOf(part, root);
  if (variant !== undefined) return exampleOfPart(variant.part, root, depth + 1);
  switch (types[0]) {
    case "object": {
      const properties = recordOf(schema["properties"]);
      return Object.fromEntries(
        requiredOf(schema).map((name) => [name, exampleOfPart(properties[name] ?? true, root, depth + 1)]),
      );
    }
    case "array": {
      const count = Math.min(numberIn(schema, "minItems") ?? 0, DEPTH_MAX);
      return Array.from({ length: count }, () => exampleOfPart(schema["items"] ?? true, root, depth + 1));
    }
    case "string":
      return FORMATS[textIn(schema, "format") ?? ""] ?? textOfPattern(textIn(schema, "pattern") ?? "(?") ?? textOfLength(schema);
    case "integer":
    case "number":
      return Math.max(numberIn(schema, "minimum") ?? 0, safeAbove(numberIn(schema, "exclusiveMinimum")));
    case "boolean":
      return false;
    default:
      return types.length === 0 ? {} : null;
  }
}

/** Maximum length of an example: longer ones add nothing, and a user with such a limit enters a text of their own. */
const TEXT_CHARS_MAX = 1_000;

function textOfLength(schema: JsonSchema): string {
  const least = Math.min(numberIn(schema, "minLength") ?? 0, TEXT_CHARS_MAX);
  const text = least <= "text".length ? "text" : Array.from({ length: Math.ceil((least + 1) / 5) }, () => "text").join(" ");
  return text.slice(0, numberIn(schema, "maxLength") ?? text.length);
}

const safeAbove = (bound: number | undefined): number => (bound === undefined ? Number.NEGATIVE_INFINITY : bound + 1);

/** A text of each format. */
export const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "ada@example.com",
  uri: "https://example.com/",
  uuid: "123e4567-e89b-12d3-a456-426614174000",
};
