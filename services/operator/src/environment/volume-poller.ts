/**
 * Reads how full volumes are, because a full volume stops the environment. Kubelets have the figure, but reading it takes rights over
 * nodes. Redis has the size of its log, which is all that is on the volume, and workers report it to the operator.
 */
import type { Clock } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { quantityOf } from "../desired/sizes.js";
import { VOLUME_FULL_RATIO, VOLUME_POLL_MS, VOLUME_STEPS } from "../limits.js";
import type { WorkerClient } from "../worker-client.js";
import type { WorkerPod } from "./worker-pods.js";

interface VolumePollerPorts {
  readonly clock: Clock;
  readonly workerClient: WorkerClient;
}

export class VolumePoller {
  readonly #ports: VolumePollerPorts;
  /** Monotonic time of the last poll, by the name of the environment. */
  readonly #polledAtMs = new Map<string, number>();

  constructor(ports: VolumePollerPorts) {
    this.#ports = ports;
  }

  /** Undefined when the next poll is not due, or no worker reports it. Rejects as `pods` does. */
  async poll(
    { metadata, spec }: EnvironmentResource,
    pods: () => Promise<readonly WorkerPod[]>,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { clock, workerClient } = this.#ports;
    const nowMs = clock.monotonicMs();
    const before = this.#polledAtMs.get(metadata.name);
    // The volume of a new environment is empty.
    if (clock.nowMs() - Date.parse(metadata.creationTimestamp ?? "") < VOLUME_POLL_MS) return undefined;
    if (spec.redis.bundled === undefined || (before !== undefined && nowMs - before < VOLUME_POLL_MS)) return undefined;
    this.#polledAtMs.set(metadata.name, nowMs); // Also without running workers: listing the pods is a request to the API server.
    const readyPod = (await pods()).find(({ address, isReady, isEnding }) => address !== undefined && isReady && !isEnding);
    if (readyPod?.address === undefined) return undefined;
    const { logBytes } = (await workerClient.readReport(readyPod.address, signal)) ?? {};
    return logBytes === undefined ? undefined : inSteps(logBytes, quantityOf(spec.redis.bundled.size));
  }

  discard(environment: string): void {
    this.#polledAtMs.delete(environment);
  }
}

/** Whether the volume should be enlarged. */
export function isFilling({ spec }: EnvironmentResource, usedBytes: number | undefined): boolean {
  const size = spec.redis.bundled?.size;
  return size !== undefined && usedBytes !== undefined && usedBytes >= quantityOf(size) * VOLUME_FULL_RATIO;
}

/** Rounded up to steps, so that the status is not written for every byte. */
function inSteps(bytes: number, volumeBytes: number): number {
  const step = Math.max(1, Math.floor(volumeBytes / VOLUME_STEPS));
  return Math.ceil(bytes / step) * step;
}
