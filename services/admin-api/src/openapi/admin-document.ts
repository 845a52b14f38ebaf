/**
 * The document of `GET /openapi`, built from the routes that serve the interface and from the schemas that parse requests and validate
 * answers in tests, so it always matches the code.
 */
import { ProblemShape } from "@perdure/admin-contract";
import { z } from "zod";
import type { ApiRoute, RouteOperation } from "../http/route.js";

const JSON_TYPE = "application/json";
const ERROR = { $ref: "#/components/schemas/ErrorDescriptionResponse" } as const;

/** Named schemas, collected while operations are described. */
type Components = Record<string, object>;

/** OpenAPI 3.1 of all routes that are not internal. */
export function adminDocument(routes: readonly ApiRoute[]) {
  const schemas: Components = { ErrorDescriptionResponse: schemaOf(ProblemShape, "output", {}) };
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    if (route.isInternal === true) continue;
    const operations = Object.entries(route.operations);
    paths[route.path] = Object.fromEntries(
      operations.map(([method, operation]) => [method.toLowerCase(), describe(route.path, method, operation, schemas)]),
    );
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Perdure management API",
      version: "4",
      description: "Every path is served as it stands, and under `/v2`, `/v3` and `/v4` for clients that request a version.",
    },
    paths,
    components: { schemas },
  };
}

function describe(path: string, method: string, operation: RouteOperation, components: Components): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(operation.query ?? {}).map(([name, description]) => ({
    name,
    in: "query",
    required: false,
    description,
    schema: { type: "string" },
  }));
  const answers = Object.entries(operation.answers).map(([status, description]) => [
    status,
    answerOf(operation, Number(status), description, components),
  ]);
  return {
    operationId: operationId(path, method),
    summary: operation.summary,
    ...(operation.isDeprecated === true ? { deprecated: true } : {}),
    parameters: [...inPath, ...inQuery],
    ...(operation.body === undefined ? {} : { requestBody: bodyOf(operation.body, components) }),
    responses: { ...Object.fromEntries(answers), default: errorAnswer("Any other error") },
  };
}

function answerOf(operation: RouteOperation, status: number, description: string, components: Components): object {
  if (status >= 400) return errorAnswer(description);
  const shape = operation.results?.[status];
  const content = shape === undefined ? {} : { [JSON_TYPE]: { schema: schemaOf(shape, "output", components) } };
  const others = Object.fromEntries((operation.resultTypes ?? []).map((type) => [type, {}]));
  const isEmpty = shape === undefined && operation.resultTypes === undefined;
  return isEmpty ? { description } : { description, content: { ...others, ...content } };
}

function errorAnswer(description: string): object {
  return { description, content: { [JSON_TYPE]: { schema: ERROR } } };
}

function bodyOf(schema: z.ZodType, components: Components): object {
  return { required: true, content: { [JSON_TYPE]: { schema: schemaOf(schema, "input", components) } } };
}

/**
 * JSON schema. Named schemas go to the components, the given one included, because generated clients take their type names from there. The
 * names are those of the reference where it has one. Answers may get further fields later, so they are open.
 */
function schemaOf(schema: z.ZodType, io: "input" | "output", components: Components): object {
  const {
    $schema: _dialect,
    $defs,
    ...shape
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (jsonSchema.$ref === undefined) delete jsonSchema["id"];
    },
  });
  for (const [name, definition] of Object.entries($defs ?? {})) components[name] ??= withComponentRefs(definition);
  const name = schema.meta()?.id;
  if (name === undefined) return withComponentRefs(shape);
  components[name] ??= withComponentRefs(shape);
  return { $ref: `#/components/schemas/${name}` };
}

/** `#/$defs/X` → `#/components/schemas/X`, at any depth. */
function withComponentRefs(node: object): object {
  return Object.fromEntries(
    Object.entries(node).map(([name, value]: [string, unknown]) => [
      name,
      name === "$ref" && typeof value === "string" ? value.replace("#/$defs/", "#/components/schemas/") : partOf(value),
    ]),
  );

  function partOf(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(partOf);
    return typeof value === "object" && value !== null ? withComponentRefs(value) : value;
  }
}

/** `PATCH /invocations/{invocation_id}/cancel` → `patch_invocations_invocation_id_cancel`. */
function operationId(path: string, method: string): string {
  return `${method}${path}`
    .replace(/[^A-Za-z0-9]+/g, "_")
    .replace(/_$/, "")
    .toLowerCase();
}
