/**
 * Moves a handler's JSON schema into an OpenAPI document. References of the schema begin at its root (`#/$defs/Order`) and would be
 * dangling there, so they are rewritten to the new place of the root.
 */

/** Keywords whose values are data, whatever their shape. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "example", "examples"]);
/** Keywords whose values are schemas by name: a property may well be called `enum`. */
const BY_NAME: ReadonlySet<string> = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"]);

/**
 * The schema with its references rewritten for `place`, a reference such as `#/components/schemas/greetRequest`. The input is not modified.
 */
export function schemaInside(schema: unknown, place: string): unknown {
  if (Array.isArray(schema)) return schema.map((part) => schemaInside(part, place));
  if (!isObject(schema)) return schema;
  return mapValues(schema, (value, keyword) => {
    if (keyword === "$ref") return moved(value, place);
    if (keyword === "discriminator" && isObject(value)) return discriminatorInside(value, place);
    if (DATA.has(keyword)) return value;
    if (BY_NAME.has(keyword) && isObject(value)) return mapValues(value, (part) => schemaInside(part, place));
    return schemaInside(value, place);
  });
}

/** OpenAPI's own keyword: its `mapping` names schemas by reference too. */
function discriminatorInside(discriminator: Record<string, unknown>, place: string): Record<string, unknown> {
  const { mapping } = discriminator;
  return isObject(mapping) ? { ...discriminator, mapping: mapValues(mapping, (value) => moved(value, place)) } : discriminator;
}

/** Anchors (`#order`) and references to other documents resolve from anywhere and stay. */
function moved(reference: unknown, place: string): unknown {
  if (typeof reference !== "string") return reference;
  return reference === "#" || reference.startsWith("#/") ? `${place}${reference.slice(1)}` : reference;
}

function mapValues(object: Record<string, unknown>, change: (value: unknown, key: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
