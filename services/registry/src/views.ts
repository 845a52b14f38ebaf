/** The immutable snapshot that the data path reads, with every option resolved; made once per change. */

import type { DeploymentId } from "@perdure/base";
import type { DeploymentView, HandlerView, RegistrySnapshot, ServiceView } from "@perdure/control";
import type { DeploymentRecord, ServiceRevision } from "@perdure/metadata";
import type { ServiceDefaults } from "./defaults.js";
import { handlerOptions, serviceOptions } from "./effective.js";
import { listEventSubscriptions } from "./event-subscriptions.js";
import type { RegistryState } from "./state.js";

/** The view of a deployment changes only with its record, so it is cached by record. */
export type ViewCache = WeakMap<DeploymentRecord, DeploymentView>;

/** The snapshot of `state`. Unchanged deployments keep their views, and with them their identity. */
export function snapshotOf(state: RegistryState, defaults: ServiceDefaults, cache: ViewCache): RegistrySnapshot {
  const deployments = new Map<DeploymentId, DeploymentView>();
  for (const { record } of state.deployments.values()) {
    let view = cache.get(record);
    if (view === undefined) {
      view = deploymentView(record, defaults);
      cache.set(record, view);
    }
    deployments.set(record.id, view);
  }
  const services = new Map<string, ServiceView>();
  for (const [name, { deployment }] of state.latest) {
    const view = deployments.get(deployment.id)?.services.get(name);
    if (view !== undefined) services.set(name, view);
  }
  const events = listEventSubscriptions(state);
  return { services, deployments, rules: state.ruleBook.record.rules, events: events.length === 0 ? undefined : events };
}

/** A deployment as the data path sees it, registered or not. */
export function deploymentView(record: DeploymentRecord, defaults: ServiceDefaults): DeploymentView {
  const services = new Map<string, ServiceView>();
  for (const revision of record.services) services.set(revision.definition.name, serviceView(record, revision, defaults));
  return {
    id: record.id,
    address: record.address,
    additionalHeaders: record.additionalHeaders,
    protocolType: record.protocolType,
    minProtocolVersion: record.minProtocolVersion,
    maxProtocolVersion: record.maxProtocolVersion,
    services,
  };
}

function serviceView(deployment: DeploymentRecord, revision: ServiceRevision, defaults: ServiceDefaults): ServiceView {
  const { definition } = revision;
  const service = serviceOptions(deployment, revision, defaults);
  const handlers = new Map<string, HandlerView>();
  for (const handler of definition.handlers) {
    const options = handlerOptions(deployment, revision, handler, service, defaults);
    handlers.set(handler.name, {
      service: definition.name,
      handler: handler.name,
      serviceType: definition.kind,
      handlerType: handler.kind,
      public: options.public,
      input: { none: handler.input.none, required: handler.input.required, contentType: handler.input.contentType },
      output: { contentType: handler.output.contentType, setContentTypeIfEmpty: handler.output.setContentTypeIfEmpty },
      idempotencyRetentionMs: options.idempotencyRetentionMs,
      workflowRetentionMs: options.workflowCompletionRetentionMs ?? defaults.workflowRetentionMs,
      journalRetentionMs: options.journalRetentionMs,
      inactivityTimeoutMs: options.inactivityTimeoutMs,
      abortTimeoutMs: options.abortTimeoutMs,
      enableLazyState: options.enableLazyState,
      retryPolicy: options.retry,
      debounce: revision.overrides.debounce?.[handler.name],
      throttle: revision.overrides.throttle?.[handler.name],
    });
  }
  return {
    name: definition.name,
    serviceType: definition.kind,
    revision: revision.revision,
    deploymentId: deployment.id,
    ...(service.stateTtlMs === undefined ? {} : { stateTtlMs: service.stateTtlMs }),
    handlers,
  };
}
