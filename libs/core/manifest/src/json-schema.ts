/** Validates schemas of inputs and outputs at registration, because they are shown in the console and copied into OpenAPI documents. */
import { jsonFields } from "@perdure/base";
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";

type SchemaChecker = { validateSchema(schema: object): boolean | Promise<unknown>; errorsText(): string };

/** Compiled meta-schemas by dialect: compiling is costly, and most manifests need at most one. */
const checkers = new Map<string, SchemaChecker>();

/** The problem of a schema by its own dialect, or `undefined`. A schema of an unknown dialect is not validated. */
export function jsonSchemaProblem(schema: unknown): string | undefined {
  if (typeof schema === "boolean") return undefined;
  const fields = jsonFields(schema);
  if (fields === undefined) return "a JSON schema is an object or a boolean";
  const { $schema: named, ...rest } = fields;
  const dialect = dialectOf(named);
  if (dialect === undefined) return undefined;
  const checker = checkerOf(dialect);
  return checker.validateSchema(rest) === true ? undefined : checker.errorsText();
}

/** A short text for lists: `JSON 'Order'` by its title, else `JSON object` by its type; `undefined` where it has neither. */
export function describeJsonSchema(schema: unknown): string | undefined {
  const { title, type } = jsonFields(schema) ?? {};
  if (typeof title === "string" && title !== "") return `JSON '${title}'`;
  return typeof type === "string" ? `JSON ${type}` : undefined;
}

/** `named`: the member `$schema`. */
function dialectOf(named: unknown): string | undefined {
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
