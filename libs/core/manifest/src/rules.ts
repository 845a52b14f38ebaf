/** Rules that a well-formed manifest can break (service-protocol.md §13.3, the rules answered with 400). */
import { isContentType, isContentTypeRule } from "./content-type.js";
import { jsonSchemaProblem } from "./json-schema.js";
import type { ManifestProblem } from "./parse.js";
import type { WireHandler, WireManifest, WireService } from "./wire.js";

/** The first rule that the manifest breaks, or `undefined`. */
export function checkRules(manifest: WireManifest): ManifestProblem | undefined {
  for (const service of manifest.services) {
    if (isReserved(service.name)) {
      return {
        status: 400,
        code: "META0005",
        detail: `the service name '${service.name}' is reserved: names may neither start with 'restate' nor be 'openapi' or 'perdure.webhooks'`,
      };
    }
    for (const handler of service.handlers) {
      const detail = handlerProblem(service, handler);
      if (detail !== undefined) return { status: 400, code: undefined, detail };
    }
  }
  return undefined;
}

function isReserved(name: string): boolean {
  const lower = name.toLowerCase();
  // The last one delivers events inside the workers.
  return lower.startsWith("restate") || lower === "openapi" || lower === "perdure.webhooks";
}

function handlerProblem(service: WireService, handler: WireHandler): string | undefined {
  const where = `handler '${service.name}/${handler.name}'`;
  if (!isLegalPair(service.ty, handler.ty ?? undefined)) {
    return `${where}: a handler of type ${handler.ty} cannot belong to a service of type ${service.ty}`;
  }
  const isRun = service.ty === "WORKFLOW" && handler.ty === "WORKFLOW";
  if (!isRun && isSet(handler.workflowCompletionRetention)) {
    return `${where}: workflowCompletionRetention can only be set on the workflow handler of a workflow`;
  }
  if (isRun && isSet(handler.idempotencyRetention)) {
    return `${where}: idempotencyRetention has no meaning for a workflow handler, use workflowCompletionRetention`;
  }
  if (service.ingressPrivate === true && handler.ingressPrivate === false) {
    return `${where}: a handler of a private service cannot be public`;
  }
  return contentProblem(where, handler);
}

function contentProblem(where: string, handler: WireHandler): string | undefined {
  const inputType = handler.input?.contentType;
  if (isSet(inputType) && !isContentTypeRule(inputType)) {
    return `${where}: the input content type '${inputType}' is malformed, expected type/subtype, type/* or */*`;
  }
  const outputType = handler.output?.contentType;
  if (isSet(outputType) && !isContentType(outputType)) {
    return `${where}: the output content type '${outputType}' is malformed, expected type/subtype`;
  }
  const inputSchema = handler.input?.jsonSchema;
  const outputSchema = handler.output?.jsonSchema;
  const inputProblem = isSet(inputSchema) ? jsonSchemaProblem(inputSchema) : undefined;
  if (inputProblem !== undefined) return `${where}: the input JSON schema is malformed: ${inputProblem}`;
  const outputProblem = isSet(outputSchema) ? jsonSchemaProblem(outputSchema) : undefined;
  return outputProblem === undefined ? undefined : `${where}: the output JSON schema is malformed: ${outputProblem}`;
}

function isLegalPair(service: WireService["ty"], handler: WireHandler["ty"] | undefined): boolean {
  switch (service) {
    case "SERVICE":
      return handler === undefined || handler === "SHARED";
    case "VIRTUAL_OBJECT":
      return handler !== "WORKFLOW";
    case "WORKFLOW":
      return handler !== "EXCLUSIVE";
  }
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}
