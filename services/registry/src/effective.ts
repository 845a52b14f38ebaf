/** Resolves options with this precedence: handler, change by an operator, service in the manifest, server. */
import type { RetryPolicy } from "@perdure/control";
import type { HandlerDefinition, RetryOptions } from "@perdure/manifest";
import type { DeploymentRecord, EffectiveOptions, Notice, ServiceRevision } from "@perdure/metadata";
import type { ServiceDefaults } from "./defaults.js";

/** Options of a service's handlers that do not set their own. */
export function serviceOptions(
  deployment: DeploymentRecord,
  revision: ServiceRevision,
  defaults: ServiceDefaults,
): EffectiveOptions {
  const { definition, overrides } = revision;
  const options = definition.options;
  return {
    public: overrides.public ?? options.ingressPrivate !== true,
    idempotencyRetentionMs: clamp(
      overrides.idempotencyRetentionMs ?? options.idempotencyRetentionMs ?? defaults.idempotencyRetentionMs,
      defaults,
    ),
    workflowCompletionRetentionMs: definition.kind === "workflow" ? workflowRetention(revision, undefined, defaults) : undefined,
    journalRetentionMs: clampJournal(
      overrides.journalRetentionMs ?? options.journalRetentionMs ?? defaults.journalRetentionMs,
      defaults,
    ),
    inactivityTimeoutMs: inactivity(
      deployment,
      overrides.inactivityTimeoutMs ?? options.inactivityTimeoutMs ?? defaults.inactivityTimeoutMs,
    ),
    abortTimeoutMs: overrides.abortTimeoutMs ?? options.abortTimeoutMs ?? defaults.abortTimeoutMs,
    stateTtlMs: stateTtl(revision),
    enableLazyState: options.enableLazyState ?? defaults.enableLazyState,
    retry: retryPolicy([options.retry], defaults),
    notices: noticesOf(deployment, revision, defaults),
  };
}

/** Options of one handler. */
export function handlerOptions(
  deployment: DeploymentRecord,
  revision: ServiceRevision,
  handler: HandlerDefinition,
  service: EffectiveOptions,
  defaults: ServiceDefaults,
): Omit<EffectiveOptions, "notices" | "stateTtlMs"> {
  const own = handler.options;
  return {
    public: service.public && own.ingressPrivate !== true,
    idempotencyRetentionMs: clamp(own.idempotencyRetentionMs ?? service.idempotencyRetentionMs, defaults),
    workflowCompletionRetentionMs: workflowRetention(revision, handler, defaults),
    journalRetentionMs: clampJournal(own.journalRetentionMs ?? service.journalRetentionMs, defaults),
    inactivityTimeoutMs: inactivity(deployment, own.inactivityTimeoutMs ?? service.inactivityTimeoutMs),
    abortTimeoutMs: own.abortTimeoutMs ?? service.abortTimeoutMs,
    enableLazyState: own.enableLazyState ?? service.enableLazyState,
    retry: retryPolicy([own.retry, revision.definition.options.retry], defaults),
  };
}

function stateTtl({ definition, overrides: { stateTtlMs = 0 } }: ServiceRevision): number | undefined {
  return definition.kind === "virtualObject" && stateTtlMs > 0 ? stateTtlMs : undefined;
}

/** A request/response attempt never waits for messages, so the timer has no meaning there and is shown as 0. */
function inactivity(deployment: DeploymentRecord, configuredMs: number): number {
  return deployment.protocolType === "requestResponse" ? 0 : configuredMs;
}

/** The manifest sets it on the run handler; an operator sets it for the service. */
function workflowRetention(revision: ServiceRevision, handler: HandlerDefinition | undefined, defaults: ServiceDefaults): number {
  const run = handler ?? revision.definition.handlers.find((candidate) => candidate.kind === "workflow");
  const requestedMs = revision.overrides.workflowCompletionRetentionMs ?? run?.workflowCompletionRetentionMs;
  return clamp(requestedMs ?? defaults.workflowRetentionMs, defaults);
}

function clampJournal(retentionMs: number, defaults: ServiceDefaults): number {
  return clamp(Math.min(retentionMs, defaults.journalRetentionMaxMs ?? Number.POSITIVE_INFINITY), defaults);
}

function clamp(retentionMs: number, { retentionMaxMs }: ServiceDefaults): number {
  return Math.min(retentionMs, retentionMaxMs ?? Number.POSITIVE_INFINITY);
}

/** Field by field, the first level that sets it. */
function retryPolicy(levels: readonly RetryOptions[], defaults: ServiceDefaults): RetryPolicy {
  const fallback = defaults.retryPolicy;
  const maxAttempts = first(levels, "maxAttempts") ?? fallback.maxAttempts;
  const cap = defaults.maxAttemptsMax;
  return {
    initialIntervalMs: first(levels, "initialIntervalMs") ?? fallback.initialIntervalMs,
    factor: first(levels, "factor") ?? fallback.factor,
    maxIntervalMs: first(levels, "maxIntervalMs") ?? fallback.maxIntervalMs,
    maxAttempts: cap === undefined ? maxAttempts : Math.min(maxAttempts ?? cap, cap),
    onMaxAttempts: first(levels, "onMaxAttempts") ?? fallback.onMaxAttempts,
  };
}

function first<K extends keyof RetryOptions>(levels: readonly RetryOptions[], field: K): RetryOptions[K] | undefined {
  for (const level of levels) if (level[field] !== undefined) return level[field];
  return undefined;
}

function noticesOf(deployment: DeploymentRecord, revision: ServiceRevision, defaults: ServiceDefaults): readonly Notice[] {
  const notices: Notice[] = [];
  const { definition, overrides } = revision;
  const inactivityMs = overrides.inactivityTimeoutMs ?? definition.options.inactivityTimeoutMs;
  if (deployment.protocolType === "requestResponse" && inactivityMs !== undefined && inactivityMs > 0) {
    notices.push({
      code: "RT0021",
      message: "The inactivity timeout has no effect, because the deployment answers in request-response mode.",
    });
  }
  const journalMs = overrides.journalRetentionMs ?? definition.options.journalRetentionMs ?? 0;
  if (journalMs > clampJournal(journalMs, defaults)) {
    notices.push({ code: "RT0022", message: "The journal retention is shortened to the maximum this server allows." });
  }
  return notices;
}
