/** Services and handlers as JSON (admin-api.md §4): names and durations of the interface, without unset fields. */
import type { HandlerShape, ServiceShape } from "@perdure/admin-contract";
import { formatDuration } from "@perdure/base";
import { describeJsonSchema, type HandlerDefinition, type OutputDefinition, type RetryOptions } from "@perdure/manifest";
import type { LocatedRevision, Registry } from "@perdure/metadata";
import type { ViewOf } from "./response.js";

const SERVICE_TYPES = { service: "Service", virtualObject: "VirtualObject", workflow: "Workflow" } as const;
const HANDLER_TYPES = { exclusive: "Exclusive", shared: "Shared", workflow: "Workflow" } as const;
const ON_MAX_ATTEMPTS = { pause: "Pause", kill: "Kill" } as const;

/** Fields that are `undefined` do not appear in JSON. */
export function serviceView(registry: Registry, located: LocatedRevision): ViewOf<typeof ServiceShape> {
  const { definition, revision } = located.revision;
  const options = registry.effective(located);
  return {
    name: definition.name,
    ty: SERVICE_TYPES[definition.kind],
    handlers: definition.handlers.map((handler) => handlerView(registry, located, handler)),
    documentation: definition.documentation,
    metadata: unlessEmpty(definition.metadata),
    deployment_id: located.deployment.id,
    revision,
    public: options.public,
    idempotency_retention: formatDuration(options.idempotencyRetentionMs),
    workflow_completion_retention: duration(options.workflowCompletionRetentionMs),
    journal_retention: formatDuration(options.journalRetentionMs),
    inactivity_timeout: formatDuration(options.inactivityTimeoutMs),
    abort_timeout: formatDuration(options.abortTimeoutMs),
    state_ttl: duration(options.stateTtlMs),
    enable_lazy_state: options.enableLazyState,
    retry_policy: {
      initial_interval: formatDuration(options.retry.initialIntervalMs),
      exponentiation_factor: options.retry.factor,
      max_attempts: options.retry.maxAttempts ?? null,
      max_interval: duration(options.retry.maxIntervalMs),
      on_max_attempts: ON_MAX_ATTEMPTS[options.retry.onMaxAttempts],
    },
    info: options.notices.length === 0 ? undefined : options.notices,
  };
}

/** Returns the options that the handler sets itself, except for `public`, which considers its service. */
export function handlerView(
  registry: Registry,
  located: LocatedRevision,
  handler: HandlerDefinition,
): ViewOf<typeof HandlerShape> {
  const { options, input, output } = handler;
  return {
    name: handler.name,
    ty: located.revision.definition.kind === "service" ? undefined : HANDLER_TYPES[handler.kind],
    documentation: handler.documentation,
    metadata: unlessEmpty(handler.metadata),
    idempotency_retention: duration(options.idempotencyRetentionMs),
    journal_retention: duration(options.journalRetentionMs),
    inactivity_timeout: duration(options.inactivityTimeoutMs),
    abort_timeout: duration(options.abortTimeoutMs),
    enable_lazy_state: options.enableLazyState,
    debounce: located.revision.overrides.debounce?.[handler.name],
    throttle: located.revision.overrides.throttle?.[handler.name],
    public: registry.effective(located).public && options.ingressPrivate !== true,
    input_description: input.none ? "none" : describe(input.contentType, input.jsonSchema),
    output_description: describe(outputTypeText(output), output.jsonSchema),
    input_json_schema: input.jsonSchema,
    output_json_schema: output.jsonSchema,
    retry_policy: retryView(options.retry),
  };
}

function retryView(retry: RetryOptions) {
  return {
    initial_interval: duration(retry.initialIntervalMs),
    exponentiation_factor: retry.factor,
    max_attempts: retry.maxAttempts ?? null,
    max_interval: duration(retry.maxIntervalMs),
    on_max_attempts: retry.onMaxAttempts === undefined ? undefined : ON_MAX_ATTEMPTS[retry.onMaxAttempts],
  };
}

function describe(contentType: string, jsonSchema: unknown): string {
  return describeJsonSchema(jsonSchema) ?? contentType;
}

/** Returns the output's content type. A type that also applies to empty answers does not show whether there is a body. */
function outputTypeText({ contentType, setContentTypeIfEmpty }: OutputDefinition): string {
  if (contentType === undefined) return "none";
  return setContentTypeIfEmpty ? `optional ${contentType}` : contentType;
}

function duration(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatDuration(ms);
}

export function unlessEmpty(map: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  return Object.keys(map).length === 0 ? undefined : map;
}
