/** A value that begins well: what must be there is there, and what has a default has it. Pure. */
import { listOf, numberIn, read, recordOf, requiredOf, textIn } from "./json-schema.js";

/** What contains itself ends somewhere. */
const DEPTH_MAX = 8;

/** `{}` where nothing is known. */
export function exampleOf(root: unknown): unknown {
  return root === undefined ? {} : exampleOfPart(root, root, 0);
}

export function exampleOfPart(part: unknown, root: unknown, depth = 0): unknown {
  const { schema, types, isNullable, choices } = read(part, root);
  if (schema["default"] !== undefined) return schema["default"];
  if ("const" in schema) return schema["const"];
  const [example] = listOf(schema["examples"]);
  if (example !== undefined) return example;
  const [value] = listOf(schema["enum"]);
  if (value !== undefined) return value;
  if (isNullable || depth > DEPTH_MAX) return null;
  const [choice] = choices;
  if (choice !== undefined) return exampleOfPart(choice, root, depth + 1);
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
      return textIn(schema, "format") === undefined ? "text" : (FORMATS[textIn(schema, "format") ?? ""] ?? "text");
    case "integer":
    case "number":
      return Math.max(numberIn(schema, "minimum") ?? 0, safeAbove(numberIn(schema, "exclusiveMinimum")));
    case "boolean":
      return false;
    default:
      return types.length === 0 ? {} : null;
  }
}

const safeAbove = (bound: number | undefined): number => (bound === undefined ? Number.NEGATIVE_INFINITY : bound + 1);

const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "ada@example.com",
  uri: "https://example.com/",
  uuid: "123e4567-e89b-12d3-a456-426614174000",
};
