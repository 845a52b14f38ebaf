/** Parts that every service's OpenAPI document shares: parameters, answers and the shape of errors at the ingress. */
import type { HandlerDefinition } from "@perdure/manifest";
import { schemaInside } from "./schema-inside.js";

const text = { type: "string" } as const;

export const SHARED_PARAMETERS = {
  key: { name: "key", in: "path", required: true, schema: text },
  delay: {
    name: "delay",
    in: "query",
    required: false,
    description: "How long to wait before the handler starts: an ISO 8601 duration, or a text such as `1h 30m`",
    example: "10s",
    schema: text,
  },
  idempotencyKeyHeader: {
    name: "idempotency-key",
    in: "header",
    required: false,
    description: "Requests with the same key are one invocation; all of them get its result",
    schema: text,
  },
  idempotencyKeyPath: {
    name: "idempotencyKey",
    in: "path",
    required: true,
    description: "The key the request was made with",
    schema: text,
  },
} as const;

const ERROR_REF = { $ref: "#/components/schemas/RestateError" } as const;

function errorResponse(description: string, example: object) {
  return { description, content: { "application/json": { schema: ERROR_REF, example } } };
}

export const SHARED_RESPONSES = {
  GenericError: errorResponse("Error", { code: 500, message: "Internal server error", source: "invocation" }),
  InvocationNotFoundError: errorResponse("There is no such invocation", { message: "invocation not found", source: "ingress" }),
  InvocationNotReadyError: errorResponse("The invocation has no result yet", {
    message: "the invocation exists but has not completed yet",
    source: "ingress",
  }),
  Send: {
    description: "The invocation is stored",
    content: {
      "application/json": {
        schema: {
          title: "RestateSendResponse",
          type: "object",
          required: ["invocationId", "status"],
          additionalProperties: false,
          properties: {
            invocationId: text,
            status: { type: "string", enum: ["Accepted", "PreviouslyAccepted"] },
            executionTime: { type: "string", format: "date-time", description: "When a delayed invocation starts" },
          },
        },
        example: { invocationId: "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz", status: "Accepted" },
      },
    },
  },
} as const;

export const SHARED_SCHEMAS = {
  RestateError: {
    title: "RestateError",
    description: "Error of the ingress, or terminal error of a handler",
    type: "object",
    required: ["message", "source"],
    additionalProperties: false,
    properties: {
      code: { type: "number", title: "error code" },
      message: { type: "string", title: "Error message" },
      metadata: { type: "object", title: "Additional metadata map", additionalProperties: text },
      source: {
        type: "string",
        title: "Error source",
        enum: ["ingress", "invocation"],
        description:
          "Source of the error: the ingress, then the status is plain HTTP, or the invocation, then the handler chose it. " +
          "The header `x-restate-error-source` has the same value.",
      },
      stacktrace: { type: "string", title: "Stacktrace of the error" },
    },
  },
} as const;

export const TAGS = [
  { name: "Request Response", description: "Call a handler and wait" },
  { name: "Send", description: "Send to a handler and do not wait" },
  { name: "Attach", description: "Wait for an invocation made earlier" },
  { name: "Get Output", description: "Get the result of an earlier invocation" },
] as const;

/** The schemas of a handler, as `<handler>Request` and `<handler>Response`. */
export function handlerSchemas({ name, input, output }: HandlerDefinition): Record<string, unknown> {
  return { ...component(`${name}Request`, input.jsonSchema), ...component(`${name}Response`, output.jsonSchema) };
}

function component(name: string, schema: unknown): Record<string, unknown> {
  return schema === undefined ? {} : { [name]: schemaInside(schema, `#/components/schemas/${name}`) };
}
