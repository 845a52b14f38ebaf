/** Translates a manifest into definitions, with its defaults filled in (service-protocol.md §13.2, end). */
import { ANY_CONTENT_TYPE } from "./content-type.js";
import type {
  HandlerDefinition,
  HandlerKind,
  InputDefinition,
  Manifest,
  ManifestOptions,
  OutputDefinition,
  ServiceDefinition,
  ServiceKind,
} from "./definition.js";
import type { WireHandler, WireManifest, WireService } from "./wire.js";

const JSON_CONTENT_TYPE = "application/json";

/** Requires a well-formed manifest that passed `checkRules`. Of two entries with the same name the last one is used. */
export function translateManifest(wire: WireManifest, mode: NonNullable<WireManifest["protocolMode"]>): Manifest {
  const services = new Map<string, ServiceDefinition>();
  for (const service of wire.services) services.set(service.name, translateService(service));
  return {
    protocolMode: mode === "BIDI_STREAM" ? "bidiStream" : "requestResponse",
    minProtocolVersion: wire.minProtocolVersion,
    maxProtocolVersion: wire.maxProtocolVersion,
    lambdaCompression: wire.lambdaCompression ?? undefined,
    services: [...services.values()],
  };
}

function translateService(wire: WireService): ServiceDefinition {
  const kind = SERVICE_KINDS[wire.ty];
  const handlers = new Map<string, HandlerDefinition>();
  for (const handler of wire.handlers) handlers.set(handler.name, translateHandler(handler, kind));
  return {
    name: wire.name,
    kind,
    documentation: wire.documentation ?? undefined,
    metadata: wire.metadata ?? {},
    options: translateOptions(wire),
    handlers: [...handlers.values()],
  };
}

function translateHandler(wire: WireHandler, service: ServiceKind): HandlerDefinition {
  return {
    name: wire.name,
    kind: handlerKind(wire.ty ?? undefined, service),
    documentation: wire.documentation ?? undefined,
    metadata: wire.metadata ?? {},
    input: translateInput(wire.input ?? undefined),
    output: translateOutput(wire.output ?? undefined),
    options: translateOptions(wire),
    workflowCompletionRetentionMs: wire.workflowCompletionRetention ?? undefined,
  };
}

const SERVICE_KINDS = { SERVICE: "service", VIRTUAL_OBJECT: "virtualObject", WORKFLOW: "workflow" } as const;
const HANDLER_KINDS = { EXCLUSIVE: "exclusive", SHARED: "shared", WORKFLOW: "workflow" } as const;

/** Handlers of an object are exclusive by default, all others shared, including those of a workflow. */
function handlerKind(type: keyof typeof HANDLER_KINDS | undefined, service: ServiceKind): HandlerKind {
  if (type !== undefined) return HANDLER_KINDS[type];
  return service === "virtualObject" ? "exclusive" : "shared";
}

function translateInput(input: WireHandler["input"] | undefined): InputDefinition {
  if (input === undefined || input === null) {
    return { none: false, required: false, contentType: ANY_CONTENT_TYPE, jsonSchema: undefined };
  }
  const jsonSchema = input.jsonSchema ?? undefined;
  const contentType = input.contentType ?? (jsonSchema === undefined ? ANY_CONTENT_TYPE : JSON_CONTENT_TYPE);
  const none = (input.contentType ?? input.required ?? undefined) === undefined && jsonSchema === undefined;
  return { none, required: input.required ?? false, contentType, jsonSchema };
}

function translateOutput(output: WireHandler["output"] | undefined): OutputDefinition {
  if (output === undefined || output === null) {
    return { contentType: JSON_CONTENT_TYPE, setContentTypeIfEmpty: false, jsonSchema: undefined };
  }
  const jsonSchema = output.jsonSchema ?? undefined;
  return {
    contentType: output.contentType ?? (jsonSchema === undefined ? undefined : JSON_CONTENT_TYPE),
    setContentTypeIfEmpty: output.setContentTypeIfEmpty ?? false,
    jsonSchema,
  };
}

function translateOptions(wire: WireService | WireHandler): ManifestOptions {
  const maxAttempts = wire.retryPolicyMaxAttempts ?? undefined;
  const onMaxAttempts = wire.retryPolicyOnMaxAttempts ?? undefined;
  return {
    inactivityTimeoutMs: wire.inactivityTimeout ?? undefined,
    abortTimeoutMs: wire.abortTimeout ?? undefined,
    journalRetentionMs: wire.journalRetention ?? undefined,
    idempotencyRetentionMs: wire.idempotencyRetention ?? undefined,
    enableLazyState: wire.enableLazyState ?? undefined,
    ingressPrivate: wire.ingressPrivate ?? undefined,
    retry: {
      initialIntervalMs: wire.retryPolicyInitialInterval ?? undefined,
      factor: wire.retryPolicyExponentiationFactor ?? undefined,
      maxIntervalMs: wire.retryPolicyMaxInterval ?? undefined,
      maxAttempts: maxAttempts === undefined ? undefined : Math.max(1, maxAttempts), // 0 means 1.
      onMaxAttempts: onMaxAttempts === undefined ? undefined : onMaxAttempts === "PAUSE" ? "pause" : "kill",
    },
  };
}
