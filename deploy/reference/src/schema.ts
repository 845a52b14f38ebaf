/** JSON schemas as tables of fields and as short names of types. */
import { z } from "zod";
import { code, prose, table } from "./markdown.js";

/** The part of JSON Schema that our own schemas use; anything else shows as `any`. */
const jsonSchema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  get items() {
    return jsonSchema.optional();
  },
  get anyOf() {
    return z.array(jsonSchema).optional();
  },
  get oneOf() {
    return z.array(jsonSchema).optional();
  },
  get allOf() {
    return z.array(jsonSchema).optional();
  },
  get properties() {
    return z.record(z.string(), jsonSchema).optional();
  },
  required: z.array(z.string()).optional(),
});
export type JsonSchema = z.output<typeof jsonSchema>;
export { jsonSchema };

/** The schema of a zod type, as requests (`input`) or responses (`output`) have it. */
export function schemaOf(type: z.ZodType, io: "input" | "output"): JsonSchema {
  const described = z.toJSONSchema(type, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema: made }) => {
      // The custom types of the Cloud API are ids.
      if (zodSchema._zod.def.type === "custom") made.type = "string";
    },
  });
  return jsonSchema.parse(described);
}

/** `list of text`, `"a" or "b"`, `Deployment`. Named schemas are links to their heading on the page. */
export function typeName(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return linkOf(schema.$ref.split("/").at(-1) ?? "");
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((one) => code(JSON.stringify(one))).join(" or ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeName))].join(" or ");
  if (schema.allOf?.length === 1) return typeName(schema.allOf[0] ?? {});
  if (schema.type === "array") return `list of ${typeName(schema.items ?? {})}`;
  if (schema.type === "object") return schema.properties === undefined ? "object" : inlineObject(schema);
  const name = Array.isArray(schema.type) ? schema.type.join(" or ") : (schema.type ?? "any");
  return schema.format === undefined || schema.format === "regex" ? name : `${name} (${schema.format})`;
}

export function linkOf(name: string): string {
  return `[${name}](#${name.toLowerCase()})`;
}

function inlineObject({ properties, required }: JsonSchema): string {
  const fields = Object.keys(properties ?? {}).map((name) => code(required?.includes(name) === true ? name : `${name}?`));
  return fields.length === 0 ? "empty object" : `object of ${fields.join(", ")}`;
}

/** One row for each field; of a list, of its items. Empty for a schema without fields. */
export function fieldTable(schema: JsonSchema, presence: "Required" | "Always there"): string {
  const { properties, required } = schema.type === "array" ? (schema.items ?? {}) : schema;
  const rows = Object.entries(properties ?? {}).map(([name, field]) => [
    code(name),
    typeName(field),
    required?.includes(name) === true ? "yes" : "no",
    prose([field.description ?? "", defaultText(field)].filter((part) => part !== "").join(" ")),
  ]);
  return table(["Field", "Type", presence, "Meaning"], rows);
}

function defaultText(field: JsonSchema): string {
  return field.default === undefined ? "" : `Default: \`${JSON.stringify(field.default)}\`.`;
}
