/** `/services`: callable services, and the few options that can change without new code. */
import { parseDuration } from "@perdure/base";
import type { HandlerDefinition } from "@perdure/manifest";
import type { LocatedRevision, Registry } from "@perdure/metadata";
import { z } from "zod";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer, PAGE_QUERY } from "../http/page.js";
import type { ApiRoute } from "../http/route.js";
import { DocumentShape } from "../openapi/document-shape.js";
import { serviceDocument } from "../openapi/service-document.js";
import type { AdminOptions } from "../ports.js";
import { HandlerShape, listShape, ServiceShape } from "../views/service-shape.js";
import { handlerView, serviceView } from "../views/service-view.js";

/** A friendly or ISO 8601 duration, as milliseconds. */
const DurationText = z.string().transform((text, context) => {
  const parsed = parseDuration(text);
  if (parsed.ok) return parsed.ms;
  context.addIssue({ code: "custom", message: parsed.reason });
  return z.NEVER;
});

const ModifyService = z
  .object({
    public: z.boolean().nullish(),
    idempotency_retention: DurationText.nullish(),
    workflow_completion_retention: DurationText.nullish(),
    journal_retention: DurationText.nullish(),
    inactivity_timeout: DurationText.nullish(),
    abort_timeout: DurationText.nullish(),
  })
  .meta({ id: "ModifyServiceRequest" });

const ServicesShape = listShape("services", ServiceShape, "ListServicesResponse");
const HandlersShape = listShape("handlers", HandlerShape, "ListServiceHandlersResponse");

/** `ingressEndpoint` is the server address in the OpenAPI documents. */
export function serviceRoutes(registry: Registry, ingressEndpoint: AdminOptions["ingressEndpoint"]): readonly ApiRoute[] {
  return [
    allServices(registry),
    oneService(registry),
    openApiDocument(registry, ingressEndpoint),
    handlersOfService(registry),
    oneHandler(registry),
  ];
}

function allServices(registry: Registry): ApiRoute {
  return {
    path: "/services",
    operations: {
      GET: {
        summary: "List services in their latest revisions",
        query: PAGE_QUERY,
        answers: { 200: "All services, or a page of them" },
        results: { 200: ServicesShape },
        handle: (request) =>
          listAnswer(request, "services", registry.services(), nameOf, (located) => serviceView(registry, located)),
      },
    },
  };
}

function oneService(registry: Registry): ApiRoute {
  return {
    path: "/services/{service}",
    operations: {
      GET: {
        summary: "One service",
        answers: { 200: "The service", 404: "Unknown service" },
        results: { 200: ServiceShape },
        handle: (request) => json(200, serviceView(registry, requireService(registry, request.param("service")))),
      },
      PATCH: {
        summary: "Change options of a service until its next registration",
        body: ModifyService,
        answers: { 200: "The service as changed", 400: "Not an option of this type of service", 404: "Unknown service" },
        results: { 200: ServiceShape },
        handle: async (request) => {
          const body = await request.json(ModifyService);
          const changes = {
            public: body.public ?? undefined,
            idempotencyRetentionMs: body.idempotency_retention ?? undefined,
            workflowCompletionRetentionMs: body.workflow_completion_retention ?? undefined,
            journalRetentionMs: body.journal_retention ?? undefined,
            inactivityTimeoutMs: body.inactivity_timeout ?? undefined,
            abortTimeoutMs: body.abort_timeout ?? undefined,
          };
          return json(200, serviceView(registry, await registry.modifyService(request.param("service"), changes)));
        },
      },
    },
  };
}

function openApiDocument(registry: Registry, ingressEndpoint: AdminOptions["ingressEndpoint"]): ApiRoute {
  return {
    path: "/services/{service}/openapi",
    operations: {
      GET: {
        summary: "How to call the service through the ingress, as an OpenAPI document",
        answers: { 200: "The document", 404: "Unknown service" },
        results: { 200: DocumentShape },
        handle: (request) => {
          const located = requireService(registry, request.param("service"));
          const isPublic = (handler: HandlerDefinition) => handlerView(registry, located, handler).public;
          return json(200, serviceDocument(located, isPublic, ingressEndpoint()));
        },
      },
    },
  };
}

function handlersOfService(registry: Registry): ApiRoute {
  return {
    path: "/services/{service}/handlers",
    operations: {
      GET: {
        summary: "List the handlers of a service",
        query: PAGE_QUERY,
        answers: { 200: "All handlers, or a page of them", 404: "Unknown service" },
        results: { 200: HandlersShape },
        handle: (request) => {
          const located = requireService(registry, request.param("service"));
          const { handlers } = located.revision.definition;
          return listAnswer(
            request,
            "handlers",
            handlers,
            ({ name }) => name,
            (handler) => handlerView(registry, located, handler),
          );
        },
      },
    },
  };
}

function oneHandler(registry: Registry): ApiRoute {
  return {
    path: "/services/{service}/handlers/{handler}",
    operations: {
      GET: {
        summary: "One handler of a service",
        answers: { 200: "The handler", 404: "Unknown service or handler" },
        results: { 200: HandlerShape },
        handle: (request) => {
          const [service, name] = [request.param("service"), request.param("handler")];
          const located = registry.service(service);
          const handler = located?.revision.definition.handlers.find((candidate) => candidate.name === name);
          if (located === undefined || handler === undefined) {
            throw new RouteError(404, `The requested handler '${name}' on service '${service}' does not exist`);
          }
          return json(200, handlerView(registry, located, handler));
        },
      },
    },
  };
}

const nameOf = ({ revision }: LocatedRevision): string => revision.definition.name;

export function requireService(registry: Registry, name: string): LocatedRevision {
  const located = registry.service(name);
  if (located === undefined) throw new RouteError(404, `The requested service '${name}' does not exist`);
  return located;
}
