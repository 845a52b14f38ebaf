/**
 * Why: an environment that sleeps has nobody who could hear a caller. Tenancy hears of callers, from the gateways' questions and reports, in each
 * of its processes; a sleeper is then told by an annotation, and the operator gets it up.
 */
import type { Clock, Logger, Random } from "@perdure/base";
import type { EnvironmentId } from "@perdure/cloud";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubernetesClient, Reflector, resources } from "@perdure/driver-kubernetes";

/** Each other value is a new wish; the operator remembers the one that a sleeper fell asleep with. */
const WAKE = "perdure.dev/wake";

export interface WakerPorts {
  /** Closed with the waker. */
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RuntimeWaker extends AsyncDisposable {
  /** Somebody wants it. Costs nothing unless it sleeps; failures are logged, and the next caller is the next try. */
  requestWake(environmentId: EnvironmentId): void;
}

/** Knows sleepers as soon as the API server has listed them; until then nobody is woken. */
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
    this.#environments = new Reflector<EnvironmentResource>({ resource: resources.environments }, ports);
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
    logger.info({ environment: metadata.name }, "a sleeping environment is wanted again");
  }
}

/** Also on its way to sleep; not when it has been asked to wake already. */
function isAsleep({ metadata, status }: EnvironmentResource): boolean {
  const { hibernation } = status ?? {};
  if (hibernation === undefined || hibernation.state === "Waking") return false;
  return metadata.annotations?.[WAKE] === hibernation.wakeAsked;
}
