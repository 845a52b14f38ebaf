/** Why: `GET /openapi` describes this interface from the same routes that serve it, so the document cannot be out of date. */
import { z } from "zod";
import type { Method, Operation, Route } from "../http/route.js";

const ERROR = { $ref: "#/components/schemas/Error" } as const;

/** OpenAPI 3.1 of all routes that make promises. */
export function adminDocument(routes: readonly Route[]) {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    if (route.isInternal === true) continue;
    const operations = Object.entries(route.operations) as [Method, Operation][];
    paths[route.path] = Object.fromEntries(
      operations.map(([method, operation]) => [method.toLowerCase(), describe(route.path, method, operation)]),
    );
  }
  return {
    openapi: "3.1.0",
    info: { title: "Perdure management API", version: "4" },
    paths,
    components: {
      schemas: {
        Error: {
          type: "object",
          required: ["message", "restate_code"],
          properties: { message: { type: "string" }, restate_code: { type: ["string", "null"] } },
        },
      },
    },
  };
}

function describe(path: string, method: Method, operation: Operation): object {
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
  return {
    operationId: operationId(path, method),
    summary: operation.summary,
    parameters: [...inPath, ...inQuery],
    ...(operation.body === undefined ? {} : { requestBody: bodyOf(operation.body) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, description]) => [status, answerOf(status, description)]),
      ),
      default: answerOf("500", "Any other error"),
    },
  };
}

function answerOf(status: string, description: string): object {
  return Number(status) < 400 ? { description } : { description, content: { "application/json": { schema: ERROR } } };
}

function bodyOf(schema: z.ZodType): object {
  const { $schema: _dialect, ...shape } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return { required: true, content: { "application/json": { schema: shape } } };
}

/** `PATCH /invocations/{invocation_id}/cancel` → `patch_invocations_invocation_id_cancel`. */
function operationId(path: string, method: Method): string {
  return `${method}${path}`
    .replace(/[^A-Za-z0-9]+/g, "_")
    .replace(/_$/, "")
    .toLowerCase();
}
