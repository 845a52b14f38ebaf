/**
 * Wakes hibernated environments, which run no process that could receive a request. Each tenancy process learns of requests from the
 * gateways' lookups and reports; it then changes an annotation of the hibernated environment, and the operator starts its processes.
 */
import type { Clock, Logger, Random } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { type EnvironmentResource, objectNameOf, parseEnvironment } from "@perdure/custom-resources";
import { type KubernetesClient, Reflector, resources } from "@perdure/kubernetes";

/** Each new value is a new request to wake; the operator stores the value with which an environment hibernated. */
const WAKE = "perdure.dev/wake";

interface WakerPorts {
  /** Closed with the waker. */
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RuntimeWaker extends AsyncDisposable {
  /** Wakes the environment if it hibernates; does nothing otherwise. Failures are logged, and the next request tries again. */
  requestWake(environmentId: EnvironmentId): void;
}

/** Wakes environments only after the API server has listed them; requests before that are ignored. */
export function openRuntimeWaker(ports: WakerPorts): RuntimeWaker {
  return new Waker(ports);
}

class Waker implements RuntimeWaker {
  readonly #ports: WakerPorts;
  readonly #environments: Reflector<EnvironmentResource>;
  readonly #under = new Map<EnvironmentId, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(ports: WakerPorts) {
    this.#ports = ports;
    this.#environments = new Reflector({ resource: resources.environments, parse: parseEnvironment }, ports);
    this.#watching = this.#environments.run(this.#stop.signal);
  }

  requestWake(environmentId: EnvironmentId): void {
    const environment = this.#environments.get(objectNameOf(environmentId));
    if (environment === undefined || !isAsleep(environment) || this.#under.has(environmentId)) return;
    const waking = this.#wake(environment)
      .catch((cause: unknown) => {
        if (!this.#stop.signal.aborted) this.#ports.logger.warn({ environmentId, cause }, "an environment could not be woken");
      })
      .finally(() => this.#under.delete(environmentId));
    this.#under.set(environmentId, waking);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await Promise.all(this.#under.values());
    await this.#ports.client[Symbol.asyncDispose]();
  }

  async #wake({ metadata }: EnvironmentResource): Promise<void> {
    const { client, clock, logger } = this.#ports;
    const value = new Date(clock.nowMs()).toISOString();
    const whole = metadata.annotations === undefined ? [{ op: "add" as const, path: "/metadata/annotations", value: {} }] : [];
    const annotation = { op: "add" as const, path: `/metadata/annotations/${WAKE.replace("/", "~1")}`, value };
    await client.patch(resources.environments, metadata, [...whole, annotation], { signal: this.#stop.signal });
    logger.info({ environment: metadata.name }, "waking a hibernated environment");
  }
}

/** True also while it is hibernating; false when its wake annotation was changed since. */
function isAsleep({ metadata, status }: EnvironmentResource): boolean {
  const { hibernation } = status ?? {};
  if (hibernation === undefined || hibernation.state === "Waking") return false;
  return metadata.annotations?.[WAKE] === hibernation.wakeAsked;
}
