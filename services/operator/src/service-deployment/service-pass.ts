/** One reconcile of a ServiceDeployment: roll out the latest version, register it, drain and remove the others, write the status. */
import {
  type CloudEnvironment,
  type Observation,
  objectNameOf,
  observed,
  type ServiceDeployment,
} from "@perdure/custom-resources";
import { isNotFound, type KubeObject, resources } from "@perdure/kubernetes";
import { IN_PROCESS_VARIABLES, inProcessVariables } from "../cloud-environment/in-process.js";
import type { ReconcileResult } from "../controller.js";
import { hashOf } from "../desired/runtime-config.js";
import { bad, good, isGood, type StepOutcome, step } from "../environment/outcome.js";
import { STATUS_MANAGER } from "../failure-reports.js";
import { RETIRED_POLL_MS, WAIT_REFERENCE_MS } from "../limits.js";
import type { AdminResult, VersionUsage } from "./admin-clients.js";
import { problemOf, replicaSet, serviceOf } from "./desired.js";
import { type Drained, discard, drain, removeAutoscaler, type VersionDrainPorts } from "./drain.js";
import { shortOf, TEMPLATE, TEMPLATE_HASH, templateHash, versionName } from "./names.js";
import { noteDrain, noteRegistration, type VersionNotePorts } from "./notes.js";
import type { ServiceDeploymentPorts, ServiceDeployments } from "./reconcile.js";
import { takingSchemasSeriously } from "./schema-rejections.js";
import { conditionsOf, type ServiceFacts, statusOf } from "./status.js";
import { type RegistrationTarget, serviceUrl, targetOf, tunnelIdentityOf } from "./target.js";
import { type RegisterTarget, type ServiceVersion, versionsOf } from "./version.js";

export class ServicePass {
  readonly #deployment: ServiceDeployment;
  readonly #key: string;
  readonly #owner: ServiceDeployments;
  readonly #ports: ServiceDeploymentPorts;
  readonly #signal: AbortSignal;
  readonly #nowMs: number;
  readonly #versions: readonly ServiceVersion[];
  readonly #targets = new Map<string, Promise<RegistrationTarget>>();
  #againMs = Number.POSITIVE_INFINITY;
  /** Id of the deployment that this pass has registered. */
  #registeredId: string | undefined;

  constructor(deployment: ServiceDeployment, key: string, owner: ServiceDeployments, signal: AbortSignal) {
    this.#deployment = deployment;
    this.#key = key;
    this.#owner = owner;
    this.#ports = owner.ports;
    this.#signal = signal;
    this.#nowMs = owner.ports.clock.nowMs();
    this.#versions = versionsOf(deployment, owner.ownSets.over(owner.ports.caches.replicaSets));
  }

  async run(): Promise<ReconcileResult> {
    const deployment = this.#deployment;
    const target = await this.#target(deployment.spec.perdure.register);
    const isInProcess = deployment.spec.perdure.tunnelMode === "in-process";
    // The identity of the pods' tunnels comes from the environment, so nothing is created without it.
    if (isInProcess && target.kind === "unknown")
      return this.#blocked(bad("Registered", target.reason, target.message, WAIT_REFERENCE_MS));
    const problem = problemOf(deployment, isInProcess ? IN_PROCESS_VARIABLES : []);
    if (problem !== undefined) return this.#blocked(bad("Registered", "InvalidTemplate", problem));
    const cloud = target.kind === "known" ? target.cloud : undefined;
    const hash = templateHash(deployment, tunnelIdentityOf(deployment, cloud));
    const latest = this.#versions.find((version) => version.hash === shortOf(hash));
    if (latest === undefined && (await this.#isNameInUse(hash))) return this.#collide(hash);

    const rolled = await step("Registered", () => this.#roll(hash, latest, cloud));
    const isCurrent = latest !== undefined && (await this.#isCurrent(latest));
    // Drains first, so that removed pods free resources for new ones.
    const drained = await this.#drainOthers(latest, isCurrent);
    const outcome = isGood(rolled) ? await this.#register(hash, latest, isCurrent, target) : rolled;
    const serving = this.#versions.filter((one) => one !== latest && !drained.some(({ version }) => version === one));
    const { observation, againMs } = outcome;
    this.#again(againMs);
    const deploymentId = this.#registeredId ?? (isCurrent ? latest?.deploymentId : undefined) ?? deployment.status?.deploymentId;
    const collisionCount = deployment.status?.collisionCount ?? 0;
    const facts = { hash, collisionCount, latest, deploymentId, registered: observation, serving, drained, nowMs: this.#nowMs };
    return this.#report(facts);
  }

  #again(againMs: number | undefined): void {
    if (againMs !== undefined) this.#againMs = Math.min(this.#againMs, againMs);
  }

  /** Ends the pass when no rollout is possible: existing versions continue, and old ones are drained. */
  async #blocked({ observation, againMs }: StepOutcome): Promise<ReconcileResult> {
    const drained = await this.#drainOthers(undefined, false);
    this.#again(againMs);
    const { status } = this.#deployment;
    const serving = this.#versions.filter((one) => !drained.some(({ version }) => version === one));
    const [latest] = serving;
    const hash = latest?.hash ?? shortOf(templateHash(this.#deployment, undefined));
    const collisionCount = status?.collisionCount ?? 0;
    const { deploymentId } = status ?? {};
    const facts = { hash, collisionCount, latest, deploymentId, registered: observation, serving: serving.slice(1), drained };
    return this.#report({ ...facts, nowMs: this.#nowMs });
  }

  // ── the latest version ─────────────────────────────────────────────────────────────────────────

  /** Whether another owner, or another template, has the name that this version would have. */
  async #isNameInUse(hash: string): Promise<boolean> {
    const { name, namespace, uid } = this.#deployment.metadata;
    const call = { signal: this.#signal };
    const child = versionName(name, hash);
    const set = await this.#ports.client.find(resources.replicaSets, child, namespace, call);
    const service = await this.#ports.client.find(resources.services, child, namespace, call);
    const isForeign = (object: KubeObject | undefined): boolean =>
      object !== undefined && object.metadata.ownerReferences?.some((owner) => owner.uid === uid) !== true;
    const isOther = set !== undefined && set.metadata.annotations?.[TEMPLATE] !== hash;
    return isForeign(set) || isForeign(service) || isOther;
  }

  /** Another number gives another hash, at once. */
  async #collide(hash: string): Promise<ReconcileResult> {
    const { status } = this.#deployment;
    const { name } = this.#deployment.metadata;
    const note = `${versionName(name, hash)} has another owner; another name is used`;
    await this.#recordEvent("Warning", "HashCollision", note);
    const collisionCount = (status?.collisionCount ?? 0) + 1;
    const observations = (status?.conditions ?? []).map(({ type, status: is, reason, message }) => ({
      type,
      status: is,
      reason,
      message,
    }));
    await writeStatus(this.#deployment, { ...status, collisionCount }, observations, this.#ports, this.#signal);
    return { kind: "ok" }; // The changed status brings us back.
  }

  async #roll(hash: string, latest: ServiceVersion | undefined, cloud: CloudEnvironment | undefined): Promise<StepOutcome> {
    const { applier } = this.#ports;
    const deployment = this.#deployment;
    const { name, namespace = "" } = deployment.metadata;
    const child = versionName(name, hash);
    if (latest?.supersededAtMs !== undefined) {
      // Back to this version: no drain autoscaler scales it any more, and it gets the requested number of pods.
      await removeAutoscaler(deployment, latest, this.#ports, this.#signal);
      applier.discardObject(resources.replicaSets, child, namespace);
    }
    const isInProcess = deployment.spec.perdure.tunnelMode === "in-process" && cloud !== undefined;
    const variables = isInProcess ? inProcessVariables(cloud, child) : [];
    await takingSchemasSeriously(async () => {
      await applier.apply(replicaSet(deployment, hash, variables), this.#signal);
      await applier.apply(serviceOf(deployment, child, hash), this.#signal);
    });
    return good("Registered", "RolledOut");
  }

  /** Whether the version is registered where the spec says, still exists there, and was not superseded since. */
  async #isCurrent(latest: ServiceVersion): Promise<boolean> {
    const { deploymentId, registeredAt, supersededAtMs } = latest;
    if (deploymentId === undefined || supersededAtMs !== undefined) return false;
    if (hashOf(registeredAt) !== hashOf(this.#deployment.spec.perdure.register)) return false;
    const target = await this.#target(registeredAt);
    if (target.kind === "unknown") return true;
    const request = (): Promise<AdminResult<boolean>> => this.#ports.adminClients.knows(target.admin, deploymentId, this.#signal);
    const answer = await this.#owner.registrationCache.of(this.#key, [deploymentId], request);
    // A runtime that does not respond still has the registration.
    return answer.kind !== "answered" || answer.value;
  }

  /** `latest`: undefined right after its creation; the watch event triggers the next pass. */
  async #register(
    hash: string,
    latest: ServiceVersion | undefined,
    isCurrent: boolean,
    target: RegistrationTarget,
  ): Promise<StepOutcome> {
    const deployment = this.#deployment;
    const { perdure, replicas } = deployment.spec;
    if (isCurrent && latest !== undefined) {
      this.#owner.refusals.delete(this.#key);
      return good("Registered", "Registered", `deployment ${latest.deploymentId}`);
    }
    if (replicas === 0) return bad("Registered", "ScaledToZero", "its services cannot be discovered while it has no pods");
    if (latest === undefined || latest.requested !== replicas || latest.available < replicas) {
      const available = `${latest?.available ?? 0} of ${replicas} pods of version ${shortOf(hash)} are available`;
      return bad("Registered", "NotReady", available);
    }
    if (target.kind === "unknown") return bad("Registered", target.reason, target.message, WAIT_REFERENCE_MS);
    const waiting = this.#environmentProblem();
    if (waiting !== undefined) return bad("Registered", "EnvironmentNotReady", waiting, WAIT_REFERENCE_MS);

    const { name, namespace = "" } = deployment.metadata;
    const place = { name: latest.name, namespace };
    const url = serviceUrl(deployment, place, target.cloud, this.#ports.addresses);
    const again = latest.supersededAtMs !== undefined;
    const metadata = { "perdure.dev/service-deployment": `${namespace}/${name}`, [TEMPLATE_HASH]: shortOf(hash) };
    const registration = { url, protocol: perdure.protocol, breaking: perdure.breakingChanges === "allow", again, metadata };
    const answer = await this.#ports.adminClients.register(target.admin, registration, this.#signal);
    switch (answer.kind) {
      case "answered":
        return this.#takeOver(latest, answer.value);
      case "unreachable":
        return bad("Registered", "Unreachable", answer.message, answer.againMs);
      case "refused":
        return this.#refused(answer.message);
    }
  }

  /** Why its environment accepts no requests yet; undefined when it does. */
  #environmentProblem(): string | undefined {
    const { environment: id } = this.#deployment.spec.perdure.register;
    if (id === undefined) return undefined;
    const ready = this.#ports.caches.environments.get(objectNameOf(id))?.status?.conditions?.find(({ type }) => type === "Ready");
    return ready?.status === "True" ? undefined : `environment ${id} is not ready: ${ready?.message ?? ""}`;
  }

  /** Makes the version the called one. The process may end after each annotation: the next pass continues from there. */
  async #takeOver(latest: ServiceVersion, id: string): Promise<StepOutcome> {
    const deployment = this.#deployment;
    const at = deployment.spec.perdure.register;
    await noteRegistration(deployment, latest, { id, at }, this.#notePorts(), this.#signal);
    const none = { supersededAtMs: undefined, removeAfterMs: undefined };
    await noteDrain(deployment, latest, none, this.#notePorts(), this.#signal);
    for (const one of this.#versions) if (one !== latest) await this.#supersede(one);
    this.#registeredId = id;
    this.#owner.refusals.delete(this.#key);
    this.#owner.usageCache.discard(this.#usageKey(at));
    this.#owner.registrationCache.discard(this.#key);
    await this.#recordEvent("Normal", "Registered", `version ${latest.hash} is deployment ${id}`);
    return good("Registered", "Registered", `deployment ${id}`);
  }

  async #supersede(version: ServiceVersion): Promise<void> {
    if (version.supersededAtMs !== undefined) return;
    const note = { supersededAtMs: this.#nowMs, removeAfterMs: version.removeAfterMs };
    await noteDrain(this.#deployment, version, note, this.#notePorts(), this.#signal);
  }

  async #refused(message: string): Promise<StepOutcome> {
    const { name, namespace } = this.#deployment.metadata;
    this.#ports.logger.warn({ namespace, name, message }, "a registration was refused");
    await this.#recordEvent("Warning", "RegistrationRefused", message);
    return bad("Registered", "RegistrationRefused", message, this.#owner.refused(this.#key));
  }

  // ── the others ─────────────────────────────────────────────────────────────────────────────────

  /** Drains superseded versions, and those that were never called. */
  async #drainOthers(latest: ServiceVersion | undefined, isLatestCurrent: boolean): Promise<readonly Drained[]> {
    const { revisionHistoryLimit } = this.#deployment.spec;
    const ports = this.#drainPorts();
    const drained: Drained[] = [];
    for (const version of this.#versions) {
      if (version === latest) continue;
      if (isLatestCurrent) await this.#supersede(version);
      const isLeaving = isLatestCurrent || version.supersededAtMs !== undefined || version.deploymentId === undefined;
      if (isLeaving && (latest !== undefined || version.supersededAtMs !== undefined)) {
        drained.push(await drain(this.#deployment, version, ports, this.#signal));
      }
    }
    const retired = drained.filter(({ state }) => state === "Retired");
    retired.sort((one, other) => (other.version.supersededAtMs ?? 0) - (one.version.supersededAtMs ?? 0));
    for (const one of retired.slice(revisionHistoryLimit)) {
      drained[drained.indexOf(one)] = await discard(this.#deployment, one.version, ports, this.#signal);
    }
    for (const { state, removeAfterMs, version } of drained) {
      if (state === "Retired" && version.deploymentId !== undefined) this.#again(RETIRED_POLL_MS);
      if (state === "Draining" || state === "Idle") this.#again(this.#owner.pollMs);
      if (removeAfterMs !== undefined) this.#again(Math.max(0, removeAfterMs - this.#nowMs));
    }
    return drained;
  }

  #notePorts(): VersionNotePorts {
    return { client: this.#ports.client, ownSets: this.#owner.ownSets };
  }

  #drainPorts(): VersionDrainPorts {
    const { client, applier, caches, adminClients } = this.#ports;
    return {
      client,
      applier,
      caches,
      nowMs: this.#nowMs,
      ownSets: this.#owner.ownSets,
      usageOf: (version, anew) => this.#usageOf(version, anew),
      deregister: async (version) => {
        const target = await this.#target(version.registeredAt);
        if (target.kind === "known") return adminClients.remove(target.admin, version.deploymentId ?? "", false, this.#signal);
        if (target.isGone) return { kind: "answered", value: undefined };
        return { kind: "unreachable", message: target.message, againMs: WAIT_REFERENCE_MS };
      },
    };
  }

  async #usageOf(version: ServiceVersion, anew: boolean): Promise<AdminResult<VersionUsage>> {
    const { adminClients } = this.#ports;
    if (version.deploymentId === undefined) return adminClients.readUsage({ url: "", token: undefined }, [], this.#signal);
    const target = await this.#target(version.registeredAt);
    if (target.kind === "unknown") {
      if (target.isGone) return adminClients.readUsage({ url: "", token: undefined }, [], this.#signal);
      return { kind: "unreachable", message: target.message, againMs: WAIT_REFERENCE_MS };
    }
    const at = hashOf(version.registeredAt);
    const same = this.#versions.filter((one) => one.deploymentId !== undefined && hashOf(one.registeredAt) === at);
    const ids = same.map(({ deploymentId = "" }) => deploymentId);
    const key = this.#usageKey(version.registeredAt);
    if (anew) this.#owner.usageCache.discard(key);
    return this.#owner.usageCache.of(key, ids, () => adminClients.readUsage(target.admin, ids, this.#signal));
  }

  #usageKey(register: RegisterTarget | undefined): string {
    return `${this.#key} ${hashOf(register)}`;
  }

  #target(register: RegisterTarget | undefined): Promise<RegistrationTarget> {
    const key = hashOf(register);
    const cached = this.#targets.get(key);
    if (cached !== undefined) return cached;
    const target = targetOf(register ?? this.#deployment.spec.perdure.register, this.#ports, this.#signal);
    this.#targets.set(key, target);
    return target;
  }

  // ── reports ────────────────────────────────────────────────────────────────────────────────────

  #recordEvent(type: "Normal" | "Warning", reason: string, note: string): Promise<void> {
    return this.#ports.events.record(this.#deployment, { type, reason, action: "Reconcile", note });
  }

  async #report(facts: ServiceFacts): Promise<ReconcileResult> {
    const deployment = this.#deployment;
    const conditions = conditionsOf(deployment, facts);
    const before = deployment.status?.conditions ?? [];
    for (const { type, status, reason, message } of conditions) {
      const isNew = before.find((one) => one.type === type)?.reason !== reason;
      const isBad = type === "DrainStuck" ? status === "True" : type === "Registered" && WARNED.has(reason);
      if (isNew && isBad) await this.#recordEvent("Warning", type === "DrainStuck" ? "DrainStuck" : reason, message);
    }
    await writeStatus(deployment, statusOf(deployment, facts), conditions, this.#ports, this.#signal);
    return Number.isFinite(this.#againMs) ? { kind: "wait", againMs: this.#againMs } : { kind: "ok" };
  }
}

const WARNED: ReadonlySet<string> = new Set(["InvalidTemplate", "InvalidReference", "Invalid", "Forbidden", "Conflict"]);

/** Writes only a changed status; does nothing when the object was deleted. */
export async function writeStatus(
  deployment: ServiceDeployment,
  facts: object,
  observations: readonly Observation[],
  { client, clock, definitions }: Pick<ServiceDeploymentPorts, "client" | "clock" | "definitions">,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, metadata, status: before } = deployment;
  const time = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const generation = metadata.generation ?? 0;
  const all = [...observations.filter(({ type }) => type !== "CrdOutdated"), ...definitions.outdated("servicedeployments")];
  const status = {
    ...facts,
    observedGeneration: generation,
    conditions: observed(before?.conditions, all, { generation, time }),
  };
  if (hashOf(status) === hashOf(before)) return;
  const { name, namespace, uid } = metadata;
  const own = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
  try {
    await client.apply(
      { apiVersion, kind, metadata: own, status },
      { manager: STATUS_MANAGER, force: true, subresource: "status", signal },
    );
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
  }
}
