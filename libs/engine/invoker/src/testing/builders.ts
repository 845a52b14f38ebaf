/** Registries, handlers and invocations for tests; each shows only what matters to it. */
import { type DeploymentId, type InvocationId, newInvocationId, type Random, systemRandom } from "@perdure/base";
import type {
  DeploymentView,
  EndpointAddress,
  HandlerView,
  RegistrySnapshot,
  RegistryView,
  RetryPolicy,
  ServiceView,
} from "@perdure/control";
import { type HandlerType, type InvocationFacts, PRIORITY_DEFAULT, type ServiceType, type Target } from "@perdure/state-machine";

export const testDeploymentId = "dp_15ChR1PDwZt22Rn2lfZrRo5" as DeploymentId;

export function aTarget(target: Partial<Target> = {}): Target {
  return {
    scope: undefined,
    service: "Svc",
    key: undefined,
    handler: "run",
    serviceType: "service",
    handlerType: "shared",
    ...target,
  };
}

export function someFacts(facts: Partial<InvocationFacts> = {}, random: Random = systemRandom): InvocationFacts {
  const target = facts.target ?? aTarget();
  return {
    id: facts.id ?? (newInvocationId(target, 1_795_000_000_000, random) as InvocationId),
    target,
    source: { kind: "ingress" },
    idempotencyKey: undefined,
    requestId: 0,
    createdAtMs: 1_795_000_000_000,
    executionTimeMs: undefined,
    completionRetentionMs: 0,
    journalRetentionMs: 0,
    randomSeed: undefined,
    trace: undefined,
    limitKey: undefined,
    priority: PRIORITY_DEFAULT,
    bytes: undefined,
    ...facts,
  };
}

export const quickRetries: RetryPolicy = {
  initialIntervalMs: 10,
  factor: 2,
  maxIntervalMs: 100,
  maxAttempts: 5,
  onMaxAttempts: "pause",
};

export function aHandler(handler: Partial<HandlerView> = {}): HandlerView {
  return {
    service: "Svc",
    handler: "run",
    serviceType: "service",
    handlerType: "shared",
    public: true,
    input: { none: false, required: false, contentType: "*/*" },
    output: { contentType: "application/json", setContentTypeIfEmpty: false },
    idempotencyRetentionMs: 86_400_000,
    workflowRetentionMs: 86_400_000,
    journalRetentionMs: 86_400_000,
    inactivityTimeoutMs: 60_000,
    abortTimeoutMs: 600_000,
    enableLazyState: false,
    retryPolicy: quickRetries,
    ...handler,
  };
}

/** Default types of a handler. */
const defaultHandlerType: Readonly<Record<ServiceType, HandlerType>> = {
  service: "shared",
  virtualObject: "exclusive",
  workflow: "workflow",
};

export interface TestDeployment {
  readonly id?: DeploymentId;
  readonly address?: EndpointAddress;
  readonly protocolType?: DeploymentView["protocolType"];
  readonly minProtocolVersion?: number;
  readonly maxProtocolVersion?: number;
  readonly additionalHeaders?: Readonly<Record<string, string>>;
  /** Service name → type and handlers. */
  readonly services: Readonly<Record<string, { type?: ServiceType; handlers: Readonly<Record<string, Partial<HandlerView>>> }>>;
}

/** A registry with one deployment that serves everything named. */
export function aRegistry(given: TestDeployment): RegistryView {
  const id = given.id ?? testDeploymentId;
  const services = new Map<string, ServiceView>();
  for (const [name, { type = "service", handlers }] of Object.entries(given.services)) {
    const views = new Map<string, HandlerView>();
    for (const [handler, options] of Object.entries(handlers)) {
      views.set(
        handler,
        aHandler({ service: name, handler, serviceType: type, handlerType: defaultHandlerType[type], ...options }),
      );
    }
    services.set(name, { name, serviceType: type, revision: 1, deploymentId: id, handlers: views });
  }
  const deployment: DeploymentView = {
    id,
    address: given.address ?? { kind: "http", uri: "http://127.0.0.1:9080", httpVersion: "HTTP/2.0" },
    additionalHeaders: given.additionalHeaders ?? {},
    protocolType: given.protocolType ?? "bidiStream",
    minProtocolVersion: given.minProtocolVersion ?? 5,
    maxProtocolVersion: given.maxProtocolVersion ?? 7,
    services,
  };
  return aRegistryOf({ services, deployments: new Map([[id, deployment]]), rules: [] });
}

/** A registry that never changes. */
export function aRegistryOf(snapshot: RegistrySnapshot): RegistryView {
  return { current: () => snapshot, onChange: () => () => undefined };
}
