/**
 * Reconciles a service: one version for each template, the latest registered as soon as its pods are ready, the earlier ones kept for as
 * long as they are needed (kubernetes.md §1.2). Each pass decides on the present state only, and may be interrupted at any line.
 */
import { BoundedCache, backoffMs, type Clock, type Logger, type Random } from "@perdure/base";
import type { Observation, ServiceDeployment } from "@perdure/custom-resources";
import { type EventRecorder, type KubernetesClient, resources } from "@perdure/kubernetes";
import type { ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import type { Cell } from "../cell.js";
import type { ReconcileResult } from "../controller.js";
import type { Definitions } from "../definitions.js";
import { addFinalizer } from "../finalizer.js";
import { CACHED_ANSWERS_MAX, CIRCUIT_BOUNDS, DRAIN_POLL_MS, REGISTRATION_CACHE_MS } from "../limits.js";
import type { OperatorAddresses } from "./addresses.js";
import type { AdminClients, VersionUsage } from "./admin-clients.js";
import { AnswerCache } from "./answer-cache.js";
import { FINALIZER } from "./names.js";
import { OwnSets } from "./own-sets.js";
import { ServicePass, writeStatus } from "./service-pass.js";
import { teardown } from "./teardown.js";

export interface ServiceDeploymentPorts {
  readonly client: KubernetesClient;
  readonly applier: ObjectApplier;
  readonly caches: Caches;
  readonly cell: Cell;
  readonly clock: Clock;
  /** Draws the pauses after refused registrations. */
  readonly random?: Random | undefined;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly adminClients: AdminClients;
  readonly addresses: OperatorAddresses;
  readonly definitions: Pick<Definitions, "outdated">;
}

export interface ServiceDeploymentOptions {
  /** Milliseconds between two questions whether a superseded version is still needed. */
  readonly drainPollMs?: number | undefined;
}

/** `key`: `namespace/name`. One object for all services of a cell; its caches only save requests. */
export class ServiceDeployments {
  readonly ports: ServiceDeploymentPorts;
  readonly pollMs: number;
  readonly usageCache: AnswerCache<VersionUsage>;
  /** Whether the latest of a service is still registered. */
  readonly registrationCache: AnswerCache<boolean>;
  /** Versions as annotated lately. */
  readonly ownSets = new OwnSets();
  /** Refusals in a row, by service; the oldest entry is dropped first. */
  readonly refusals = new BoundedCache<string, number>({ entriesMax: CACHED_ANSWERS_MAX });

  constructor(ports: ServiceDeploymentPorts, { drainPollMs = DRAIN_POLL_MS }: ServiceDeploymentOptions = {}) {
    this.ports = ports;
    this.pollMs = drainPollMs;
    this.usageCache = new AnswerCache(ports.clock, drainPollMs * 0.9);
    this.registrationCache = new AnswerCache(ports.clock, REGISTRATION_CACHE_MS);
  }

  /** One pass. Rejects with what was thrown on: it is tried again after a pause. */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const [namespace = "", name = ""] = key.split("/");
    const { caches, client } = this.ports;
    const deployment = caches.serviceDeployments.get(name, namespace);
    if (deployment === undefined) {
      this.refusals.delete(key);
      return { kind: "ok" };
    }
    if (deployment.metadata.deletionTimestamp !== undefined) return this.#remove(deployment, key, signal);
    await addFinalizer(resources.serviceDeployments, deployment, FINALIZER, client, signal);
    return new ServicePass(deployment, key, this, signal).run();
  }

  async #remove(deployment: ServiceDeployment, key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const result = await teardown(deployment, { ...this.ports, pollMs: this.pollMs }, signal);
    if (result.kind === "gone") {
      this.refusals.delete(key);
      return { kind: "ok" };
    }
    const { message, againMs } = result;
    const draining: Observation = { type: "Draining", status: "True", reason: result.reason, message };
    const ready: Observation = { type: "Ready", status: "False", reason: "Deleting", message };
    await writeStatus(deployment, { ...deployment.status }, [draining, ready], this.ports, signal);
    const event = { type: "Normal", reason: result.reason, action: "Delete", note: message } as const;
    await this.ports.events.record(deployment, event);
    return { kind: "wait", againMs };
  }

  /** Milliseconds until a refused registration is tried again. */
  refused(key: string): number {
    const before = this.refusals.peek(key) ?? 0;
    this.refusals.set(key, before + 1);
    return backoffMs(before, CIRCUIT_BOUNDS, this.ports.random);
  }
}
