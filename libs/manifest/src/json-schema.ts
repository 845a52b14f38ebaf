/** Why: schemas of inputs and outputs are shown to people and put into OpenAPI documents, so what is not a schema is refused early. */
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";

type SchemaChecker = { validateSchema(schema: object): boolean | Promise<unknown>; errorsText(): string };

/** Meta-schemas are costly to compile and most manifests need one of them at most. */
const checkers = new Map<string, SchemaChecker>();

/** What is wrong with a schema by its own dialect, or `undefined`. A dialect we do not know is left to its readers. */
export function jsonSchemaProblem(schema: unknown): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return "a JSON schema is an object or a boolean";
  const dialect = dialectOf(schema);
  if (dialect === undefined) return undefined;
  const checker = checkerOf(dialect);
  const { $schema: _named, ...rest } = schema as Record<string, unknown>;
  return checker.validateSchema(rest) === true ? undefined : checker.errorsText();
}

/** A few words for lists: `JSON 'Order'` by its title, else `JSON object` by its type; `undefined` where it has neither. */
export function describeJsonSchema(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const { title, type } = schema as { readonly title?: unknown; readonly type?: unknown };
  if (typeof title === "string" && title !== "") return `JSON '${title}'`;
  return typeof type === "string" ? `JSON ${type}` : undefined;
}

function dialectOf(schema: object): string | undefined {
  const named = (schema as { $schema?: unknown }).$schema;
  if (named === undefined) return "2020-12";
  if (typeof named !== "string") return "2020-12";
  if (named.includes("2020-12")) return "2020-12";
  if (named.includes("2019-09")) return "2019-09";
  return named.includes("draft-07") ? "draft-07" : undefined;
}

function checkerOf(dialect: string): SchemaChecker {
  const existing = checkers.get(dialect);
  if (existing !== undefined) return existing;
  const options = { strict: false, logger: false } as const;
  const made: SchemaChecker =
    dialect === "2020-12" ? new Ajv2020(options) : dialect === "2019-09" ? new Ajv2019(options) : new Ajv(options);
  checkers.set(dialect, made);
  return made;
}
