/**
 * The OpenAPI 3.1 document of one service: how to call its handlers through the ingress (ingress.md §12). Private handlers cannot be called
 * from there, so they are left out.
 */
import type { HandlerDefinition, ServiceDefinition } from "@perdure/manifest";
import type { LocatedRevision } from "@perdure/metadata";
import { handlerSchemas, SHARED_PARAMETERS, SHARED_RESPONSES, SHARED_SCHEMAS, TAGS } from "./service-components.js";

type PathItem = Readonly<Record<string, object>>;

/** `isPublic` returns whether the ingress serves a handler. */
export function serviceDocument(
  { revision: { definition, revision } }: LocatedRevision,
  isPublic: (handler: HandlerDefinition) => boolean,
  ingressEndpoint: string | undefined,
) {
  const handlers = definition.handlers.filter(isPublic);
  return {
    openapi: "3.1.0",
    info: {
      title: definition.name,
      version: String(revision),
      description: definition.documentation,
      "x-restate-extensions": extensions(definition.metadata),
    },
    servers: ingressEndpoint === undefined ? [] : [{ url: ingressEndpoint, description: "Ingress" }],
    tags: TAGS,
    paths: Object.fromEntries(handlers.flatMap((handler) => Object.entries(handlerPaths(definition, handler)))),
    components: {
      parameters: SHARED_PARAMETERS,
      responses: SHARED_RESPONSES,
      schemas: Object.fromEntries(
        [SHARED_SCHEMAS, ...handlers.map(handlerSchemas)].flatMap((schemas) => Object.entries(schemas)),
      ),
    },
  };
}

function handlerPaths(service: ServiceDefinition, handler: HandlerDefinition): Record<string, PathItem> {
  const key = service.kind === "service" ? "" : "/{key}";
  const target = `${service.name}${key}/${handler.name}`;
  const keyed = key === "" ? [] : [parameter("key")];
  const common = { summary: handler.name, "x-restate-extensions": extensions(handler.metadata) };
  const body = requestBody(handler);
  // Not for workflows, whose run is idempotent by its key already.
  const idempotency = service.kind === "workflow" ? [] : [parameter("idempotencyKeyHeader")];
  const paths: Record<string, PathItem> = {
    [`/restate/call/${target}`]: {
      post: {
        ...common,
        operationId: handler.name,
        description: handler.documentation ?? `Calls ${service.name}/${handler.name} and waits for its result`,
        parameters: [...keyed, ...idempotency],
        requestBody: body,
        responses: { 200: resultOf(handler), default: response("GenericError") },
      },
    },
    [`/restate/send/${target}`]: {
      post: {
        ...common,
        tags: ["Send"],
        operationId: `${handler.name}Send`,
        description: handler.documentation ?? `Sends to ${service.name}/${handler.name} without waiting`,
        parameters: [...keyed, ...idempotency, parameter("delay")],
        requestBody: body,
        responses: { 200: response("Send"), 202: response("Send"), default: response("GenericError") },
      },
    },
  };
  if (service.kind === "workflow") {
    if (handler.kind === "workflow")
      addLookups(paths, `/restate/workflow/${service.name}/{key}`, handler, keyed, "the workflow's run");
  } else {
    const path = `/restate/invocation/${target}/{idempotencyKey}`;
    addLookups(paths, path, handler, [...keyed, parameter("idempotencyKeyPath")], "the invocation with this idempotency key");
  }
  return paths;
}

/** The two older ways to a result; new clients look up the invocation id and use that. */
function addLookups(
  paths: Record<string, PathItem>,
  path: string,
  handler: HandlerDefinition,
  parameters: readonly object[],
  what: string,
): void {
  const common = { summary: handler.name, deprecated: true, parameters };
  const instead = "Deprecated: use POST /restate/lookup for the invocation id";
  const responses = { 200: resultOf(handler), 404: response("InvocationNotFoundError"), default: response("GenericError") };
  paths[`${path}/attach`] = {
    get: {
      ...common,
      tags: ["Attach"],
      operationId: `${handler.name}Attach`,
      description: `${instead}, then GET /restate/attach/{invocationId}. Waits for the result of ${what}`,
      responses,
    },
  };
  paths[`${path}/output`] = {
    get: {
      ...common,
      tags: ["Get Output"],
      operationId: `${handler.name}Output`,
      description: `${instead}, then GET /restate/output/{invocationId}. The result of ${what}, if there is one yet`,
      responses: { ...responses, 470: response("InvocationNotReadyError") },
    },
  };
}

function requestBody({ name, input }: HandlerDefinition): object | undefined {
  if (input.none) return undefined;
  const schema = input.jsonSchema === undefined ? {} : { schema: { $ref: `#/components/schemas/${name}Request` } };
  return { required: input.required, content: { [input.contentType]: schema } };
}

function resultOf({ name, output }: HandlerDefinition): object {
  if (output.contentType === undefined) return { description: "Empty" };
  const schema = output.jsonSchema === undefined ? {} : { schema: { $ref: `#/components/schemas/${name}Response` } };
  return { description: "", content: { [output.contentType]: schema } };
}

function parameter(name: keyof typeof SHARED_PARAMETERS): object {
  return { $ref: `#/components/parameters/${name}` };
}

function response(name: keyof typeof SHARED_RESPONSES): object {
  return { $ref: `#/components/responses/${name}` };
}

function extensions(metadata: Readonly<Record<string, string>>): object | undefined {
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}
