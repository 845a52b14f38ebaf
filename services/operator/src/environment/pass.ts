/**
 * One pass over one environment. The order of the steps never leaves a pod without its network policies; a step that waits does not block
 * those that do not need it. The outcome of each step is collected for the status.
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { disruptionBudgets } from "../desired/disruption.js";
import { SECRETS_BINDING, serviceAccounts } from "../desired/namespace.js";
import { networkPolicies } from "../desired/network-policies.js";
import { quotas } from "../desired/quota.js";
import { hashOf, runtimeConfig, runtimeSettings, workerConfigHash } from "../desired/runtime-config.js";
import { front } from "../desired/workers.js";
import { WAIT_LOSS_MS, WAIT_REFERENCE_MS, WAIT_RELEASE_MS, WAIT_SOON_MS } from "../limits.js";
import { pruneScaledObject, type Scaler, scalerOf } from "./autoscaling-step.js";
import { type AcceptedDataLoss, acceptedNow, dataLossStep, LOSS_CONDITION } from "./data-loss-step.js";
import { type DataResult, dataStep } from "./data-step.js";
import type { Draining } from "./draining.js";
import { type HibernationDecision, restingEnvironment } from "./hibernation.js";
import { ensureNamespace } from "./namespace-step.js";
import { routableOutcome } from "./observe.js";
import { bad, good, isGood, type StepOutcome, step } from "./outcome.js";
import type { EnvironmentReconcilePorts, Reconciled } from "./ports.js";
import { prune, pruneUnwanted } from "./prune.js";
import { quotaProblem } from "./quota-check.js";
import { releaseOf } from "./release.js";
import { report } from "./report.js";
import { type EnvironmentSecrets, ensureSecrets } from "./secrets.js";
import { reportPasswordRestored } from "./status-events.js";
import { versionEdge } from "./version-edge.js";
import { type VolumesResult, volumesStep } from "./volumes-step.js";
import { workersStep } from "./workers-step.js";

export class EnvironmentPass {
  /** The effective environment: hibernated counts as suspended. */
  readonly #environment: EnvironmentResource;
  readonly #rest: HibernationDecision;
  #draining: Draining | undefined;
  #scaler: Scaler | undefined;
  #data: DataResult | undefined;
  #volumes: VolumesResult | undefined;
  #acceptedLoss: AcceptedDataLoss;
  readonly #ports: EnvironmentReconcilePorts;
  readonly #signal: AbortSignal;
  readonly #outcomes: StepOutcome[] = [];

  constructor(awake: EnvironmentResource, rest: HibernationDecision, ports: EnvironmentReconcilePorts, signal: AbortSignal) {
    const release = releaseOf(awake, ports.cell.releases, () => ports.caches.environments.values(), ports.turns);
    const resting = restingEnvironment(awake, rest);
    const environment = { ...resting, spec: { ...resting.spec, version: release.version } };
    this.#rest = rest;
    const edge = versionEdge(
      environment.status?.version?.current,
      environment.spec.version,
      (environment.status?.version?.featureMarkers ?? []).length > 0,
    );
    const current = environment.status?.version?.current ?? environment.spec.version;
    // An upgrade to this version is not allowed: everything else continues with the running version.
    this.#environment =
      edge.kind === "allowed" ? environment : { ...environment, spec: { ...environment.spec, version: current } };
    this.#ports = ports;
    this.#signal = signal;
    this.#outcomes.push(
      edge.kind === "allowed"
        ? { ...good("Accepted", "Accepted"), ...(release.isWaiting ? { againMs: WAIT_RELEASE_MS } : {}) }
        : bad("Accepted", edge.reason, `from ${current} there is no way to ${environment.spec.version}`),
    );
  }

  async run(): Promise<Reconciled> {
    const { cell, client, caches, applier, notes, secretCopies } = this.#ports;
    const environment = this.#environment;
    const namespaceName = objectNameOf(environment.spec.environmentId);
    const cached = caches.namespaces.get(namespaceName);
    const namespace = await this.#step("NamespaceReady", () =>
      ensureNamespace(environment, { client, applier, cell, cached, notes, secretCopies }, this.#signal),
    );
    if (!isGood(namespace)) return this.#report(undefined);

    const network = await this.#step("NetworkIsolated", () => this.#isolate());
    // No pod is created before its network policies.
    if (!isGood(network)) return this.#report(undefined);
    const baseObjects = [...quotas(environment), ...serviceAccounts(environment), runtimeConfig(environment, cell)];
    if (!(await this.#also("NamespaceReady", () => this.#applyAll(baseObjects)))) return this.#report(undefined);
    const areVolumesThere = await this.#checkVolumes();
    const secrets = await this.#secrets();
    // Nothing is created that would start without its data or keys.
    if (secrets === undefined || !areVolumesThere) return this.#report(secrets);

    const scaler = await scalerOf(environment, { client, cell }, this.#signal);
    this.#scaler = scaler;
    if (scaler.hindrance !== undefined) this.#outcomes.push(good("AutoscalerUnavailable", "KedaUnavailable", scaler.hindrance));
    await this.#step("StorageReady", () => this.#storage(secrets));
    await this.#step("WorkersReady", () => this.#workers(secrets, scaler));
    if (environment.spec.acceptDataLoss !== undefined) await this.#step(LOSS_CONDITION, () => this.#acceptLoss());
    await this.#step("Routable", () => this.#front(secrets));
    await this.#also("WorkersReady", async () => {
      await this.#applyAll([...disruptionBudgets(environment), ...scaler.objects]);
      await pruneUnwanted(environment, { client, caches, applier }, this.#signal);
      await pruneScaledObject(environment, scaler, { client, applier }, this.#signal);
      this.#checkQuota(namespaceName);
    });
    return this.#report(secrets);
  }

  /** False: Redis must not run, and the storage condition has the reason. */
  async #checkVolumes(): Promise<boolean> {
    const outcome = await step("StorageReady", async () => {
      this.#volumes = await volumesStep(this.#environment, this.#ports, this.#signal);
      return this.#volumes.outcome;
    });
    for (const observation of this.#volumes?.problems ?? []) this.#outcomes.push({ observation });
    this.#acceptedLoss = this.#volumes?.accepted;
    if (!isGood(outcome)) this.#outcomes.push(outcome);
    return isGood(outcome);
  }

  #checkQuota(namespace: string): void {
    const { caches } = this.#ports;
    const sets = [caches.statefulSets.get("worker", namespace), caches.deployments.get("front", namespace)];
    const quota = caches.resourceQuotas.get("env", namespace);
    const problem = quotaProblem(this.#environment, sets, quota);
    if (problem !== undefined) this.#outcomes.push({ observation: problem });
  }

  async #step(type: string, work: () => Promise<StepOutcome>): Promise<StepOutcome> {
    const outcome = await step(type, work);
    this.#outcomes.push(outcome);
    return outcome;
  }

  /** Does work that has no condition of its own: a refusal becomes the condition `type`. Returns whether it succeeded. */
  async #also(type: string, work: () => Promise<void>): Promise<boolean> {
    const outcome = await step(type, async () => {
      await work();
      return good(type, "Applied");
    });
    if (isGood(outcome)) return true;
    this.#outcomes[this.#outcomes.findIndex(({ observation }) => observation.type === type)] = outcome;
    return false;
  }

  async #applyAll(objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) await this.#ports.applier.apply(object, this.#signal);
  }

  /** Undefined when they do not exist yet; the first condition has the reason. */
  async #secrets(): Promise<EnvironmentSecrets | undefined> {
    const { applier, cell, client: kubernetes, clock, secretCopies: client, secretTurns: turns, databases } = this.#ports;
    let prepared: EnvironmentSecrets | undefined;
    const outcome = await step("Accepted", async () => {
      const isRedisInUse = this.#isRedisInUse();
      const made = { client, kubernetes, cell, clock, turns, databases, isRedisInUse };
      const result = await ensureSecrets(this.#environment, made, this.#signal);
      if (result.kind === "noDatabase" || result.kind === "ready") this.#outcomes.push(result.database);
      if (result.kind === "noDatabase")
        return { ...result.database, observation: { ...result.database.observation, type: "Accepted" } };
      if (result.kind === "missing") return bad("Accepted", "InvalidReference", `${result.what} is not there`, WAIT_REFERENCE_MS);
      if (result.kind === "keyLost") return bad("Accepted", "SigningKeyLost", result.message, WAIT_LOSS_MS);
      if (result.kind === "passwordLost") return bad("Accepted", "RedisPasswordLost", result.message, WAIT_LOSS_MS);
      prepared = result.secrets;
      if (prepared.isPasswordRestored) await reportPasswordRestored(this.#environment, this.#ports.events);
      if (prepared.acceptedLoss !== undefined)
        this.#acceptedLoss = await acceptedNow(this.#environment, "the signing key", prepared.acceptedLoss, this.#ports);
      return good("Accepted", "Accepted");
    });
    if (prepared?.isWaiting === true) {
      const message = "the Secret of the database has changed; its pods are replaced when it is its turn";
      this.#outcomes.push(good("RotationPending", "WaitsForTurn", message));
    }
    if (prepared !== undefined) return prepared;
    // An API server needs a moment to learn of the leave that we have just given ourselves.
    const isLeaveFresh = outcome.observation.reason === "Forbidden" && cell.secretsRole !== undefined;
    this.#outcomes[0] = isLeaveFresh ? { ...outcome, againMs: WAIT_SOON_MS } : outcome;
    // The object may have been deleted, which is not watched: it is written again.
    const { spec } = this.#environment;
    if (isLeaveFresh) applier.discardObject(resources.roleBindings, SECRETS_BINDING, objectNameOf(spec.environmentId));
    return undefined;
  }

  #isRedisInUse(): boolean {
    const namespace = objectNameOf(this.#environment.spec.environmentId);
    const set = this.#ports.caches.statefulSets.get("redis", namespace);
    return (set?.status?.replicas ?? 0) > 0;
  }

  async #isolate(): Promise<StepOutcome> {
    const { cell } = this.#ports;
    const environment = this.#environment;
    const { disablePolicies } = environment.spec.network;
    if (disablePolicies && !cell.allowPolicyDisable)
      return bad("NetworkIsolated", "PolicyDisabled", "network.disablePolicies is not allowed in this cell");
    const policies = disablePolicies ? [] : networkPolicies(environment, cell);
    await this.#applyAll(policies);
    // Rules of policies add up: one that is left over from an earlier release would continue letting through what it did.
    await prune(environment, resources.networkPolicies, policies, this.#ports, this.#signal);
    if (!disablePolicies) return good("NetworkIsolated", "Applied");
    return { ...bad("NetworkIsolated", "PolicyDisabled", "policies are switched off by the spec"), isAllowed: true };
  }

  async #storage(secrets: EnvironmentSecrets): Promise<StepOutcome> {
    const { storage, ...data } = await dataStep(this.#environment, secrets, this.#ports, this.#signal);
    this.#data = data;
    for (const observation of data.problems) this.#outcomes.push({ observation });
    return storage;
  }

  async #workers(secrets: EnvironmentSecrets, scaler: Scaler): Promise<StepOutcome> {
    const environment = this.#environment;
    const inputs = { config: workerConfigHash(environment, this.#ports.cell), secrets: secrets.hash };
    const { outcome, draining } = await workersStep(environment, inputs, scaler.isThere, this.#ports, this.#signal);
    this.#draining = draining;
    return outcome;
  }

  async #acceptLoss(): Promise<StepOutcome> {
    const { outcome, accepted } = await dataLossStep(this.#environment, this.#acceptedLoss, this.#ports, this.#signal);
    this.#acceptedLoss = accepted;
    return outcome;
  }

  async #front(secrets: EnvironmentSecrets): Promise<StepOutcome> {
    const { caches, cell, frontChecks } = this.#ports;
    const environment = this.#environment;
    const isClosed = this.#rest.hibernation?.state === "Closing";
    const config = hashOf(runtimeSettings(environment, cell));
    await this.#applyAll(front(environment, cell, { config, secrets: secrets.hash, isClosed }));
    const set = caches.deployments.get("front", objectNameOf(environment.spec.environmentId));
    const outcome = routableOutcome(set);
    return isGood(outcome) ? frontChecks.check(environment, this.#signal) : outcome;
  }

  #report(secrets: EnvironmentSecrets | undefined): Promise<Reconciled> {
    const findings = {
      secrets,
      rest: this.#rest,
      draining: this.#draining,
      scaler: this.#scaler,
      data: this.#data,
      volumes: this.#volumes,
      acceptedLoss: this.#acceptedLoss,
    };
    return report(this.#environment, this.#outcomes, findings, this.#ports, this.#signal);
  }
}
