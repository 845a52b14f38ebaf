/** Builders of service definitions for tests: a test names only the fields that matter to it. */
import type { HandlerDefinition, ManifestOptions, ServiceDefinition } from "../definition.js";

/** Options without any value. */
export function noOptions(): ManifestOptions {
  return {
    inactivityTimeoutMs: undefined,
    abortTimeoutMs: undefined,
    journalRetentionMs: undefined,
    idempotencyRetentionMs: undefined,
    enableLazyState: undefined,
    ingressPrivate: undefined,
    retry: {
      initialIntervalMs: undefined,
      factor: undefined,
      maxIntervalMs: undefined,
      maxAttempts: undefined,
      onMaxAttempts: undefined,
    },
  };
}

/** A shared handler with JSON input and output. */
export function aHandler(name: string, change: Partial<HandlerDefinition> = {}): HandlerDefinition {
  return {
    name,
    kind: "shared",
    documentation: undefined,
    metadata: {},
    input: { none: false, required: false, contentType: "application/json", jsonSchema: undefined },
    output: { contentType: "application/json", setContentTypeIfEmpty: false, jsonSchema: undefined },
    options: noOptions(),
    workflowCompletionRetentionMs: undefined,
    ...change,
  };
}

/** A plain service with the named handlers. */
export function aService(name: string, handlers: readonly string[], change: Partial<ServiceDefinition> = {}): ServiceDefinition {
  return {
    name,
    kind: "service",
    documentation: undefined,
    metadata: {},
    options: noOptions(),
    handlers: handlers.map((handler) => aHandler(handler)),
    ...change,
  };
}
