/** The services of a simulated world: one of each kind, each behind an endpoint with the protocol version that the seed draws. */
import { newDeploymentId } from "@perdure/base";
import type { DeploymentView, HandlerView, RegistrySnapshot, RegistryView, ServiceView } from "@perdure/control";
import type { HandlerType, ServiceType } from "@perdure/state-machine";
import type { SimulatedRules } from "./flow/rules.js";
import type { Scheduler } from "./scheduler.js";
import type { SimulationSettings } from "./settings.js";

interface SimulatedService {
  readonly name: string;
  readonly serviceType: ServiceType;
  readonly handlers: Readonly<Record<string, HandlerType>>;
}

/** `S/h` plain, `O/…/h` exclusive and `O/…/r` shared, `W/…/run` and `W/…/h`. */
const SHAPES: readonly SimulatedService[] = [
  { name: "S", serviceType: "service", handlers: { h: "shared" } },
  { name: "O", serviceType: "virtualObject", handlers: { h: "exclusive", r: "shared" } },
  { name: "W", serviceType: "workflow", handlers: { run: "workflow", h: "shared" } },
];

export function drawRegistry(scheduler: Scheduler, settings: SimulationSettings, rules: SimulatedRules): RegistryView {
  const deployments = new Map<DeploymentView["id"], DeploymentView>();
  const services = new Map<string, ServiceView>();
  for (const shape of SHAPES) {
    const deployment = drawDeployment(scheduler, settings, shape);
    deployments.set(deployment.id, deployment);
    for (const service of deployment.services.values()) services.set(service.name, service);
  }
  let snapshot: RegistrySnapshot = { deployments, services, rules: rules.current() };
  const current = (): RegistrySnapshot => {
    if (snapshot.rules !== rules.current()) snapshot = { deployments, services, rules: rules.current() };
    return snapshot;
  };
  return { current, onChange: (listener) => rules.onChange(listener) };
}

function drawDeployment(scheduler: Scheduler, settings: SimulationSettings, shape: SimulatedService): DeploymentView {
  const { random, clock } = scheduler;
  const id = newDeploymentId(clock.nowMs(), random);
  const handlers = new Map<string, HandlerView>();
  const enableLazyState = random.chance(0.25);
  const inactivityTimeoutMs = random.pick([0, 500, 5_000, 60_000]);
  for (const [name, handlerType] of Object.entries(shape.handlers)) {
    handlers.set(name, {
      service: shape.name,
      handler: name,
      serviceType: shape.serviceType,
      handlerType,
      public: true,
      input: { none: false, required: false, contentType: "*/*" },
      output: { contentType: undefined, setContentTypeIfEmpty: false },
      idempotencyRetentionMs: settings.retentionMs,
      workflowRetentionMs: settings.retentionMs,
      journalRetentionMs: random.pick([settings.retentionMs, settings.retentionMs / 2, settings.retentionMs * 2]),
      inactivityTimeoutMs,
      abortTimeoutMs: random.pick([5_000, 60_000]),
      enableLazyState,
      retryPolicy: {
        initialIntervalMs: random.pick([10, 500]),
        factor: 2,
        maxIntervalMs: random.pick([1_000, 20_000]),
        maxAttempts: random.pick([2, 8, 70, undefined]),
        onMaxAttempts: random.chance(0.8) ? "pause" : "kill",
      },
    });
  }
  const stateTtlMs = shape.serviceType === "virtualObject" ? settings.stateTtl?.ttlMs : undefined;
  const service: ServiceView = {
    name: shape.name,
    serviceType: shape.serviceType,
    revision: 1,
    deploymentId: id,
    stateTtlMs,
    handlers,
  };
  return {
    id,
    address: { kind: "http", uri: `http://${shape.name.toLowerCase()}.test:9080/`, httpVersion: "HTTP/2.0" },
    additionalHeaders: {},
    protocolType: random.chance(0.3) ? "requestResponse" : "bidiStream",
    minProtocolVersion: 5,
    maxProtocolVersion: random.pick([5, 6, 7, 7]),
    services: new Map([[shape.name, service]]),
  };
}
