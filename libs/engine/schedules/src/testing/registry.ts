/** Builds a registry with the handlers that schedules of a test call. */
import type { HandlerView, RegistryView, ServiceView } from "@perdure/control";
import type { HandlerType, ServiceType } from "@perdure/state-machine";

const DAY_MS = 86_400_000;

/** `{ Greeter: ["service", "greet"] }`; handlers of workflows named `run` are the workflow handlers, those of objects are exclusive. */
export function aRegistry(services: Readonly<Record<string, readonly [ServiceType, ...string[]]>>): RegistryView {
  const views = new Map<string, ServiceView>();
  for (const [name, [serviceType, ...handlers]] of Object.entries(services)) {
    views.set(name, {
      name,
      serviceType,
      revision: 1,
      deploymentId: "dp_15ChR1PDwZt22Rn2lfZrRo5" as ServiceView["deploymentId"],
      handlers: new Map(handlers.map((handler) => [handler, handlerView(name, serviceType, handler)])),
    });
  }
  const snapshot = { services: views, deployments: new Map(), rules: [] };
  return { current: () => snapshot, onChange: () => () => undefined };
}

function handlerView(service: string, serviceType: ServiceType, handler: string): HandlerView {
  const handlerType: HandlerType =
    serviceType === "workflow" && handler === "run" ? "workflow" : serviceType === "virtualObject" ? "exclusive" : "shared";
  return {
    service,
    handler,
    serviceType,
    handlerType,
    public: true,
    input: { none: false, required: false, contentType: "*/*" },
    output: { contentType: undefined, setContentTypeIfEmpty: false },
    idempotencyRetentionMs: DAY_MS,
    workflowRetentionMs: DAY_MS,
    journalRetentionMs: DAY_MS,
    inactivityTimeoutMs: 60_000,
    abortTimeoutMs: 60_000,
    enableLazyState: false,
    retryPolicy: { initialIntervalMs: 100, factor: 2, maxIntervalMs: undefined, maxAttempts: undefined, onMaxAttempts: "pause" },
  };
}
