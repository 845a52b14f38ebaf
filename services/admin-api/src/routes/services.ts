/** `/services`: callable services, and the few options that can change without new code. */
import { getHandler, getService, getServiceDocument, listHandlers, listServices, modifyService } from "@perdure/admin-contract";
import { ModifyService } from "@perdure/admin-contract/requests";
import type { HandlerDefinition } from "@perdure/manifest";
import type { LocatedRevision, Registry, ServiceOverrides } from "@perdure/metadata";
import type { z } from "zod";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer } from "../http/page.js";
import { type ApiRoute, route } from "../http/route.js";
import { serviceDocument } from "../openapi/service-document.js";
import type { AdminOptions } from "../ports.js";
import { handlerView, serviceView } from "../views/service-view.js";

/** `ingressEndpoint` is the server address in the OpenAPI documents. */
export function serviceRoutes(registry: Registry, ingressEndpoint: AdminOptions["ingressEndpoint"]): readonly ApiRoute[] {
  return [
    route(listServices, {
      summary: "List services in their latest revisions",
      answers: { 200: "All services, or a page of them" },
      handle: (request) =>
        listAnswer(request, "services", registry.services(), nameOf, (located) => serviceView(registry, located)),
    }),
    route(getService, {
      summary: "One service",
      answers: { 200: "The service", 404: "Unknown service" },
      handle: (request) => json(200, serviceView(registry, requireService(registry, request.param("service")))),
    }),
    route(modifyService, {
      summary: "Change options of a service until its next registration",
      body: ModifyService,
      answers: {
        200: "The service as changed",
        400: "Not an option of this type of service or of this handler",
        404: "Unknown service",
      },
      handle: async (request) => {
        const body = await request.json(ModifyService);
        return json(200, serviceView(registry, await registry.modifyService(request.param("service"), changesOf(body))));
      },
    }),
    route(getServiceDocument, {
      summary: "How to call the service through the ingress, as an OpenAPI document",
      answers: { 200: "The document", 404: "Unknown service" },
      handle: (request) => {
        const located = requireService(registry, request.param("service"));
        const isPublic = (handler: HandlerDefinition) => handlerView(registry, located, handler).public;
        return json(200, serviceDocument(located, isPublic, ingressEndpoint()));
      },
    }),
    route(listHandlers, {
      summary: "List the handlers of a service",
      answers: { 200: "All handlers, or a page of them", 404: "Unknown service" },
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
    }),
    route(getHandler, {
      summary: "One handler of a service",
      answers: { 200: "The handler", 404: "Unknown service or handler" },
      handle: (request) => {
        const [service, name] = [request.param("service"), request.param("handler")];
        const located = registry.service(service);
        const handler = located?.revision.definition.handlers.find((candidate) => candidate.name === name);
        if (located === undefined || handler === undefined) {
          throw new RouteError(404, `The requested handler '${name}' on service '${service}' does not exist`);
        }
        return json(200, handlerView(registry, located, handler));
      },
    }),
  ];
}

/** Fields that the request does not have, or that are `null`, change nothing. */
function changesOf(body: z.output<typeof ModifyService>): ServiceOverrides {
  return {
    public: body.public ?? undefined,
    idempotencyRetentionMs: body.idempotency_retention ?? undefined,
    workflowCompletionRetentionMs: body.workflow_completion_retention ?? undefined,
    journalRetentionMs: body.journal_retention ?? undefined,
    inactivityTimeoutMs: body.inactivity_timeout ?? undefined,
    abortTimeoutMs: body.abort_timeout ?? undefined,
    stateTtlMs: body.state_ttl ?? undefined,
    debounce: body.debounce ?? undefined,
    throttle: body.throttle ?? undefined,
  };
}

const nameOf = ({ revision }: LocatedRevision): string => revision.definition.name;

export function requireService(registry: Registry, name: string): LocatedRevision {
  const located = registry.service(name);
  if (located === undefined) throw new RouteError(404, `The requested service '${name}' does not exist`);
  return located;
}
