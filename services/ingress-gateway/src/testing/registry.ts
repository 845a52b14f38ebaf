/** Registries for tests: name what matters, the rest has defaults. */
import type { DeploymentId } from "@perdure/base";
import type {
  DeploymentView,
  HandlerView,
  InputRule,
  OutputRule,
  RegistrySnapshot,
  RegistryView,
  ServiceView,
} from "@perdure/control";
import type { ServiceType } from "@perdure/state-machine";

const DAY_MS = 86_400_000;
export const jsonInput: InputRule = { none: false, required: false, contentType: "application/json" };
export const noInput: InputRule = { none: true, required: false, contentType: "*/*" };
export const jsonOutput: OutputRule = { contentType: "application/json", setContentTypeIfEmpty: false };

/** A handler of `service`; `overrides` replace the defaults of a public TypeScript handler. */
export function aHandler(service: string, handler: string, overrides: Partial<HandlerView> = {}): HandlerView {
  return {
    service,
    handler,
    serviceType: "service",
    handlerType: "shared",
    public: true,
    input: jsonInput,
    output: jsonOutput,
    idempotencyRetentionMs: DAY_MS,
    workflowRetentionMs: 2 * DAY_MS,
    journalRetentionMs: DAY_MS,
    inactivityTimeoutMs: 60_000,
    abortTimeoutMs: 600_000,
    enableLazyState: false,
    retryPolicy: { initialIntervalMs: 50, factor: 2, maxIntervalMs: 10_000, maxAttempts: undefined, onMaxAttempts: "pause" },
    ...overrides,
  };
}

export const testDeploymentId = "dp_11111111111111111111111" as DeploymentId;

/** A registry of one deployment that serves all these services. Protocol versions can be set to test deprecation. */
export function aRegistry(
  services: Readonly<Record<string, { type: ServiceType; handlers: readonly HandlerView[] }>>,
  versions: { min: number; max: number } = { min: 5, max: 7 },
): RegistryView & { replace(services: ReadonlyMap<string, ServiceView>): void } {
  const views = new Map<string, ServiceView>();
  for (const [name, { type, handlers }] of Object.entries(services)) {
    views.set(name, {
      name,
      serviceType: type,
      revision: 1,
      deploymentId: testDeploymentId,
      handlers: new Map(handlers.map((handler) => [handler.handler, { ...handler, serviceType: type }])),
    });
  }
  const deployment: DeploymentView = {
    id: testDeploymentId,
    address: { kind: "http", uri: "http://127.0.0.1:9080/", httpVersion: "HTTP/2.0" },
    additionalHeaders: {},
    protocolType: "bidiStream",
    minProtocolVersion: versions.min,
    maxProtocolVersion: versions.max,
    services: views,
  };
  let snapshot: RegistrySnapshot = { services: views, deployments: new Map([[deployment.id, deployment]]), rules: [] };
  return {
    current: () => snapshot,
    onChange: () => () => undefined,
    replace: (latest) => {
      snapshot = { services: latest, deployments: snapshot.deployments, rules: [] };
    },
  };
}
