/**
 * Adds the service that delivers events to webhooks to the registry that an invoker reads. Its deployment is this process itself, so a
 * delivery is an invocation as any other: with slots, retries, back-off, a lock for its subject, and a row in every table.
 */
import { type DeploymentId, invariant, parseDeploymentId } from "@perdure/base";
import type { DeploymentView, HandlerView, RegistrySnapshot, RegistryView, ServiceView } from "@perdure/control";
import { DELIVERY_RETENTION_MS, WEBHOOK_SERVICE } from "@perdure/state-machine";
import {
  WEBHOOK_ATTEMPTS_MAX,
  WEBHOOK_RETRY_FACTOR,
  WEBHOOK_RETRY_FIRST_MS,
  WEBHOOK_RETRY_MAX_MS,
  WEBHOOK_TIMEOUT_MS,
} from "./limits.js";

/** Address of the deployment inside this process; no host has this name. */
export const WEBHOOK_ADDRESS = "http://webhooks.perdure.invalid/";
/** Deliveries are pinned to it, so it never changes. */
const WEBHOOK_DEPLOYMENT = fixedDeploymentId("dp_10000000000000000000000");
/** The protocol version of the messages that the transport exchanges with the invoker. */
export const WEBHOOK_PROTOCOL_VERSION = 5;

export function registryWithWebhooks(registry: RegistryView): RegistryView {
  let from: RegistrySnapshot | undefined;
  let extended: RegistrySnapshot | undefined;
  return {
    current() {
      const snapshot = registry.current();
      if (extended === undefined || snapshot !== from) extended = withWebhooks(snapshot);
      from = snapshot;
      return extended;
    },
    onChange: (listener) => registry.onChange(listener),
  };
}

/** The deployment exists even without subscriptions: deliveries may have begun before the last one was removed. */
function withWebhooks(snapshot: RegistrySnapshot): RegistrySnapshot {
  const names = (snapshot.events ?? []).filter(({ webhook }) => webhook !== undefined).map(({ id }) => id);
  const service: ServiceView = {
    name: WEBHOOK_SERVICE,
    serviceType: "virtualObject",
    revision: 1,
    deploymentId: WEBHOOK_DEPLOYMENT,
    handlers: new Map(names.map((name) => [name, handlerView(name)])),
  };
  const deployment: DeploymentView = {
    id: WEBHOOK_DEPLOYMENT,
    address: { kind: "http", uri: WEBHOOK_ADDRESS, httpVersion: "HTTP/1.1" },
    additionalHeaders: {},
    protocolType: "requestResponse",
    minProtocolVersion: WEBHOOK_PROTOCOL_VERSION,
    maxProtocolVersion: WEBHOOK_PROTOCOL_VERSION,
    services: new Map([[WEBHOOK_SERVICE, service]]),
  };
  return {
    ...snapshot,
    services: new Map([...snapshot.services, [WEBHOOK_SERVICE, service]]),
    deployments: new Map([...snapshot.deployments, [WEBHOOK_DEPLOYMENT, deployment]]),
  };
}

function handlerView(handler: string): HandlerView {
  return {
    service: WEBHOOK_SERVICE,
    handler,
    serviceType: "virtualObject",
    handlerType: "exclusive",
    public: false,
    input: { none: false, required: true, contentType: "application/json" },
    output: { contentType: undefined, setContentTypeIfEmpty: false },
    idempotencyRetentionMs: DELIVERY_RETENTION_MS,
    workflowRetentionMs: DELIVERY_RETENTION_MS,
    journalRetentionMs: DELIVERY_RETENTION_MS,
    inactivityTimeoutMs: 2 * WEBHOOK_TIMEOUT_MS,
    abortTimeoutMs: WEBHOOK_TIMEOUT_MS,
    enableLazyState: true,
    retryPolicy: {
      initialIntervalMs: WEBHOOK_RETRY_FIRST_MS,
      factor: WEBHOOK_RETRY_FACTOR,
      maxIntervalMs: WEBHOOK_RETRY_MAX_MS,
      maxAttempts: WEBHOOK_ATTEMPTS_MAX,
      onMaxAttempts: "kill",
    },
  };
}

function fixedDeploymentId(text: string): DeploymentId {
  const parsed = parseDeploymentId(text);
  invariant(parsed.ok, "the id of the webhooks' deployment is legal");
  return parsed.value;
}
