/**
 * Why: from what an environment should be to what a cluster holds, as often as anybody likes: each pass looks at the present state only,
 * and one that finds nothing to do writes nothing (kubernetes.md §3.2). Steps are in an order in which no pod is ever without its walls;
 * one that waits does not hold up those that do not need it.
 */
import type { Clock, Logger } from "@perdure/base";
import { type Environment, type EnvironmentStatus, objectNameOf, observed } from "@perdure/custom-resources";
import { type EventRecorder, type KubeObject, type KubernetesClient, resources } from "@perdure/driver-kubernetes";
import type { Applier } from "../applier.js";
import type { Caches } from "../caches.js";
import type { Cell } from "../cell.js";
import type { Definitions } from "../definitions.js";
import { disruptionBudgets } from "../desired/disruption.js";
import { SECRETS_BINDING, serviceAccounts } from "../desired/namespace.js";
import { networkPolicies } from "../desired/network-policies.js";
import { quotas } from "../desired/quota.js";
import { hashOf, hostOf, runtimeConfig, runtimeSettings, workerConfigHash } from "../desired/runtime-config.js";
import { front } from "../desired/workers.js";
import { STATUS_MANAGER } from "../failure-reports.js";
import { addFinalizer } from "../finalizer.js";
import { WAIT_LOSS_MS, WAIT_REFERENCE_MS, WAIT_RELEASE_MS, WAIT_SOON_MS } from "../limits.js";
import type { OperatorMetrics } from "../metrics.js";
import type { LossDoor, WorkerDoor } from "../worker-door.js";
import { pruneScaledObject, type Scaler, scalerOf } from "./autoscaling-step.js";
import { type AcceptedLoss, acceptedNow, dataLossStep, LOSS_CONDITION } from "./data-loss-step.js";
import { type DataSeen, dataStep } from "./data-step.js";
import type { EnvironmentDatabases } from "./databases.js";
import type { Draining } from "./draining.js";
import { type Rest, restingEnvironment } from "./hibernation.js";
import { fingerprintOf } from "./key-loss.js";
import { ensureNamespace, type RetainedNotes } from "./namespace-step.js";
import { phaseOf, type Rollout, routableOutcome, summary, withDeadline } from "./observe.js";
import { bad, good, isGood, type Outcome, step } from "./outcome.js";
import type { OwnWrites } from "./own-writes.js";
import { prune, pruneUnwanted } from "./prune.js";
import { type Quota, quotaTrouble } from "./quota-look.js";
import type { RedisLooks } from "./redis-looks.js";
import { type ReleaseTurns, releaseOf } from "./release.js";
import { restStep } from "./rest-step.js";
import type { VolumeRetention } from "./retained-volumes.js";
import type { SecretCopies } from "./secret-copies.js";
import type { SecretTurns } from "./secret-turns.js";
import { type EnvironmentSecrets, ensureSecrets } from "./secrets.js";
import { FINALIZER, teardown } from "./teardown.js";
import { versionEdge } from "./version-edge.js";
import type { VolumeLooks } from "./volume-looks.js";
import { type VolumesSeen, volumesStep } from "./volumes-step.js";
import { workersStep } from "./workers-step.js";

export interface EnvironmentPorts {
  readonly client: KubernetesClient;
  readonly applier: Applier;
  readonly caches: Caches;
  readonly cell: Cell;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly metrics: Pick<OperatorMetrics, "readiness" | "snapshots" | "volumes">;
  readonly logger: Logger;
  readonly door: WorkerDoor & LossDoor;
  readonly writes: OwnWrites;
  readonly turns: ReleaseTurns;
  readonly secretTurns: SecretTurns;
  readonly databases: EnvironmentDatabases;
  readonly redisLooks: RedisLooks;
  readonly volumeLooks: VolumeLooks;
  readonly retention: VolumeRetention;
  readonly notes: RetainedNotes;
  readonly secretCopies: SecretCopies;
  readonly definitions: Pick<Definitions, "outdated">;
}

/** `wait`: look again by then at the latest. */
export type Reconciled = { readonly kind: "ok" } | { readonly kind: "wait"; readonly againMs: number };

/** One pass for one environment. Rejects with what was thrown on: it is tried again after a pause. */
export async function reconcileEnvironment(name: string, ports: EnvironmentPorts, signal: AbortSignal): Promise<Reconciled> {
  const cached = ports.caches.environments.get(name);
  const environment = cached === undefined ? undefined : ports.writes.fresh(cached);
  if (environment === undefined) {
    ports.applier.forgetNamespace(name);
    ports.writes.forget(name);
    ports.turns.forget(name);
    ports.secretTurns.end(name);
    ports.databases.forget(name);
    ports.redisLooks.forget(name);
    ports.metrics.snapshots.forget(name);
    ports.volumeLooks.forget(name);
    ports.retention.forget(name);
    ports.notes.forget(name);
    ports.secretCopies.forget(name);
    ports.metrics.volumes.forget(name);
    return { kind: "ok" };
  }
  if (environment.metadata.deletionTimestamp !== undefined) return remove(environment, ports, signal);
  if (environment.spec.region !== ports.cell.region) {
    const message = `this cell is in ${ports.cell.region}`;
    return report(environment, [bad("Accepted", "WrongRegion", message)], NOTHING_SEEN, ports, signal);
  }
  await addFinalizer(resources.environments, environment, FINALIZER, ports.client, signal);
  const rest = await restStep(environment, ports, signal);
  return new Pass(environment, rest, ports, signal).run();
}

class Pass {
  /** As it is made: asleep is as suspended. */
  readonly #environment: Environment;
  readonly #rest: Rest;
  #draining: Draining | undefined;
  #scaler: Scaler | undefined;
  #data: DataSeen | undefined;
  #volumes: VolumesSeen | undefined;
  #acceptedLoss: AcceptedLoss;
  readonly #ports: EnvironmentPorts;
  readonly #signal: AbortSignal;
  readonly #outcomes: Outcome[] = [];

  constructor(awake: Environment, rest: Rest, ports: EnvironmentPorts, signal: AbortSignal) {
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
    // A version that may not be gone to: everything else goes on with the one that runs.
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
    // No pod before its walls.
    if (!isGood(network)) return this.#report(undefined);
    const furniture = [...quotas(environment), ...serviceAccounts(environment), runtimeConfig(environment, cell)];
    if (!(await this.#also("NamespaceReady", () => this.#applyAll(furniture)))) return this.#report(undefined);
    const areVolumesThere = await this.#lookAtVolumes();
    const secrets = await this.#secrets();
    // Nothing is made that would begin with nothing.
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
      this.#lookAtQuota(namespaceName);
    });
    return this.#report(secrets);
  }

  /** False: the condition of the storage says why no Redis may run. */
  async #lookAtVolumes(): Promise<boolean> {
    const outcome = await step("StorageReady", async () => {
      this.#volumes = await volumesStep(this.#environment, this.#ports, this.#signal);
      return this.#volumes.outcome;
    });
    for (const observation of this.#volumes?.troubles ?? []) this.#outcomes.push({ observation });
    this.#acceptedLoss = this.#volumes?.accepted;
    if (!isGood(outcome)) this.#outcomes.push(outcome);
    return isGood(outcome);
  }

  #lookAtQuota(namespace: string): void {
    const { caches } = this.#ports;
    const sets = [caches.statefulSets.get("worker", namespace), caches.deployments.get("front", namespace)];
    const quota = caches.of(resources.resourceQuotas)?.get("env", namespace);
    const trouble = quotaTrouble(this.#environment, sets as (Rollout | undefined)[], quota as Quota | undefined);
    if (trouble !== undefined) this.#outcomes.push({ observation: trouble });
  }

  async #step(type: string, work: () => Promise<Outcome>): Promise<Outcome> {
    const outcome = await step(type, work);
    this.#outcomes.push(outcome);
    return outcome;
  }

  /** Work that has no condition of its own: when it is refused, that of `type` says so. Whether it worked. */
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

  /** Undefined when they cannot be had yet; the first condition says why. */
  async #secrets(): Promise<EnvironmentSecrets | undefined> {
    const { applier, cell, client: kubernetes, clock, secretCopies: client, secretTurns: turns, databases } = this.#ports;
    let found: EnvironmentSecrets | undefined;
    const outcome = await step("Accepted", async () => {
      const result = await ensureSecrets(this.#environment, { client, kubernetes, cell, clock, turns, databases }, this.#signal);
      if (result.kind === "noDatabase" || result.kind === "ready") this.#outcomes.push(result.database);
      if (result.kind === "noDatabase")
        return { ...result.database, observation: { ...result.database.observation, type: "Accepted" } };
      if (result.kind === "missing") return bad("Accepted", "InvalidReference", `${result.what} is not there`, WAIT_REFERENCE_MS);
      if (result.kind === "keyLost") return bad("Accepted", "SigningKeyLost", result.message, WAIT_LOSS_MS);
      found = result.secrets;
      if (found.acceptedLoss !== undefined)
        this.#acceptedLoss = await acceptedNow(this.#environment, "the signing key", found.acceptedLoss, this.#ports);
      return good("Accepted", "Accepted");
    });
    if (found?.isWaiting === true) {
      const message = "the Secret of the database has changed; its pods are replaced when it is its turn";
      this.#outcomes.push(good("RotationPending", "WaitsForTurn", message));
    }
    if (found !== undefined) return found;
    // An API server needs a moment to learn of the leave that we have just given ourselves.
    const isLeaveFresh = outcome.observation.reason === "Forbidden" && cell.secretsRole !== undefined;
    this.#outcomes[0] = isLeaveFresh ? { ...outcome, againMs: WAIT_SOON_MS } : outcome;
    // Or somebody took it away, which we do not see: it is given again.
    const { spec } = this.#environment;
    if (isLeaveFresh) applier.forgetObject(resources.roleBindings, SECRETS_BINDING, objectNameOf(spec.environmentId));
    return undefined;
  }

  async #isolate(): Promise<Outcome> {
    const { cell } = this.#ports;
    const environment = this.#environment;
    const { disablePolicies } = environment.spec.network;
    if (disablePolicies && !cell.allowPolicyDisable)
      return bad("NetworkIsolated", "PolicyDisabled", "network.disablePolicies is not allowed in this cell");
    const policies = disablePolicies ? [] : networkPolicies(environment, cell);
    await this.#applyAll(policies);
    // Rules of policies add up: one that is left over from an earlier release would go on letting through what it did.
    await prune(environment, resources.networkPolicies, policies, this.#ports, this.#signal);
    if (!disablePolicies) return good("NetworkIsolated", "Applied");
    return { ...bad("NetworkIsolated", "PolicyDisabled", "policies are switched off by the spec"), isAllowed: true };
  }

  async #storage(secrets: EnvironmentSecrets): Promise<Outcome> {
    const { storage, ...data } = await dataStep(this.#environment, secrets, this.#ports, this.#signal);
    this.#data = data;
    for (const observation of data.troubles) this.#outcomes.push({ observation });
    return storage;
  }

  async #workers(secrets: EnvironmentSecrets, scaler: Scaler): Promise<Outcome> {
    const environment = this.#environment;
    const inputs = { config: workerConfigHash(environment, this.#ports.cell), secrets: secrets.hash };
    const { outcome, draining } = await workersStep(environment, inputs, scaler.isThere, this.#ports, this.#signal);
    this.#draining = draining;
    return outcome;
  }

  async #acceptLoss(): Promise<Outcome> {
    const { outcome, accepted } = await dataLossStep(this.#environment, this.#acceptedLoss, this.#ports, this.#signal);
    this.#acceptedLoss = accepted;
    return outcome;
  }

  async #front(secrets: EnvironmentSecrets): Promise<Outcome> {
    const { caches, cell } = this.#ports;
    const environment = this.#environment;
    const isClosed = this.#rest.hibernation?.state === "Closing";
    const config = hashOf(runtimeSettings(environment, cell));
    await this.#applyAll(front(environment, cell, { config, secrets: secrets.hash, isClosed }));
    return routableOutcome(caches.deployments.get("front", objectNameOf(environment.spec.environmentId)) as Rollout | undefined);
  }

  #report(secrets: EnvironmentSecrets | undefined): Promise<Reconciled> {
    const seen = {
      secrets,
      rest: this.#rest,
      draining: this.#draining,
      scaler: this.#scaler,
      data: this.#data,
      volumes: this.#volumes,
      acceptedLoss: this.#acceptedLoss,
    };
    return report(this.#environment, this.#outcomes, seen, this.#ports, this.#signal);
  }
}

// ── telling ──────────────────────────────────────────────────────────────────────────────────────

async function remove(environment: Environment, ports: EnvironmentPorts, signal: AbortSignal): Promise<Reconciled> {
  const { client, cell, databases, events } = ports;
  const result = await teardown(environment, { client, cell, databases }, signal);
  if (result.kind === "gone") {
    ports.applier.forgetNamespace(objectNameOf(environment.spec.environmentId));
    return { kind: "ok" };
  }
  const isBlocked = result.reason === "DeletionBlocked";
  const told = { reason: result.reason, action: "Delete", note: result.message };
  await events.tell(environment as unknown as KubeObject, { type: isBlocked ? "Warning" : "Normal", ...told });
  const deleting = good("Deleting", result.reason, result.message);
  const outcome = result.againMs === undefined ? deleting : { ...deleting, againMs: result.againMs };
  const stuck = isBlocked ? [] : stuckDeletion(environment, result.message, ports);
  return report(environment, [outcome, ...stuck], NOTHING_SEEN, ports, signal);
}

/** Nothing is skipped because somebody does not answer; but people should know. */
function stuckDeletion({ metadata }: Environment, message: string, { clock, cell }: EnvironmentPorts): readonly Outcome[] {
  const sinceMs = Date.parse(metadata.deletionTimestamp ?? "");
  if (clock.nowMs() - sinceMs < cell.deletionStuckMs) return [];
  return [good("DeletionStuck", "Waiting", message)];
}

/** What a pass has learnt besides its outcomes. */
interface Seen {
  readonly secrets: EnvironmentSecrets | undefined;
  readonly rest: Rest | undefined;
  readonly draining: Draining | undefined;
  readonly scaler: Scaler | undefined;
  readonly data: DataSeen | undefined;
  readonly volumes: VolumesSeen | undefined;
  /** The loss that was accepted last. */
  readonly acceptedLoss: AcceptedLoss;
}

const NOTHING_SEEN: Seen = {
  secrets: undefined,
  rest: undefined,
  draining: undefined,
  scaler: undefined,
  data: undefined,
  volumes: undefined,
  acceptedLoss: undefined,
};

/** Writes the status, if it says anything new, and tells when to look again. */
async function report(
  environment: Environment,
  outcomes: readonly Outcome[],
  { secrets, rest, draining, scaler, data, volumes, acceptedLoss }: Seen,
  ports: EnvironmentPorts,
  signal: AbortSignal,
): Promise<Reconciled> {
  const { client, clock, cell, caches, events } = ports;
  const { status: before, metadata, apiVersion, kind } = environment;
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const seen = isLeaving
    ? outcomes.map(({ observation }) => observation)
    : summary(environment, outcomes, rest?.hibernation?.state);
  const generation = metadata.generation ?? 0;
  const now = withDeadline(seen, before?.conditions, generation, clock.nowMs());
  const time = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const namespace = objectNameOf(environment.spec.environmentId);
  const set = caches.statefulSets.get("worker", namespace) as Rollout | undefined;
  const isReady = now.some(({ type, status }) => type === "Ready" && status === "True");
  const status = statusOf(environment, {
    phase: phaseOf(environment, now, before),
    observedGeneration: generation,
    conditions: observed(before?.conditions, [...now, ...ports.definitions.outdated("environments")], { generation, time }),
    namespace,
    host: hostOf(environment, cell),
    set,
    isReady,
    publicKeys: secrets?.publicKeys ?? before?.signingKey?.publicKeys,
    rest,
    draining,
    autoscaler: scaler?.isThere === true ? environment.spec.workers.autoscaling?.engine : undefined,
    data,
    volumes,
    acceptedLoss,
  });
  ports.metrics.readiness.look(environment, status.phase ?? "Pending", isReady, clock.nowMs());
  if (isReady || isLeaving || environment.spec.suspended) ports.secretTurns.end(metadata.name);
  if (hashOf(status) !== hashOf(before)) {
    // Of this very object: what is known of one tells nothing of a later one of its name.
    const own = { name: metadata.name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) };
    const applied = { apiVersion, kind, metadata: own, status };
    ports.writes.note(await client.apply(applied, { manager: STATUS_MANAGER, force: true, subresource: "status", signal }));
    const wasReady = before?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
    if (isReady && !wasReady) {
      const note = `environment answers at ${status.host ?? ""}`;
      await events.tell(environment as unknown as KubeObject, { type: "Normal", reason: "Ready", action: "Reconcile", note });
    }
    await tellOfKeys(environment, status, events);
    await warnOfNew(environment, now, events);
  }
  const waits = [rest?.againMs, secrets?.againMs, ...outcomes.map((outcome) => outcome.againMs)].filter((ms) => ms !== undefined);
  const againMs = Math.min(...waits);
  return Number.isFinite(againMs) ? { kind: "wait", againMs } : { kind: "ok" };
}

/** Who deploys services must know which keys they are called with. */
async function tellOfKeys(
  { status: before, ...environment }: Environment,
  now: EnvironmentStatus,
  events: EventRecorder,
): Promise<void> {
  const [current, ...others] = now.signingKey?.publicKeys ?? [];
  const known = before?.signingKey?.publicKeys ?? [];
  if (known.length === 0 || current === undefined || known.join() === now.signingKey?.publicKeys?.join()) return;
  const note = `services are called with ${current}; they should know ${others.join(" and ") || "no other key"}, too`;
  await events.tell(environment as unknown as KubeObject, { type: "Normal", reason: "SigningKeys", action: "Rotate", note });
}

/** What somebody must do something about. */
const WARNED: ReadonlySet<string> = new Set([
  "WrongRegion",
  "VersionSkip",
  "Downgrade",
  "InvalidReference",
  "NotOwned",
  "RetainedData",
  "Invalid",
  "Forbidden",
  "Conflict",
  "PolicyDisabled",
  "ResizeFailed",
  "RedisUnreachable",
  "AuthFailed",
  "RedisEvicts",
  "DeadlineExceeded",
  "CrashLoop",
  "ImagePull",
  "Unschedulable",
  "DataLossRefused",
  "DataLost",
  "SigningKeyLost",
  "NoWorkers",
  "SharedRole",
  "DatabaseUnavailable",
  "DatabaseRefused",
]);

async function warnOfNew(environment: Environment, now: ReturnType<typeof summary>, events: EventRecorder): Promise<void> {
  const before = environment.status?.conditions ?? [];
  for (const { type, status, reason, message } of now) {
    const isNew = before.find((one) => one.type === type)?.reason !== reason;
    if (type === "Ready" || status === "True" || !isNew || !WARNED.has(reason)) continue;
    await events.tell(environment as unknown as KubeObject, { type: "Warning", reason, action: "Reconcile", note: message });
  }
}

interface StatusFacts
  extends Required<Pick<EnvironmentStatus, "phase" | "observedGeneration" | "conditions" | "namespace" | "host">> {
  readonly set: Rollout | undefined;
  readonly isReady: boolean;
  readonly publicKeys: readonly string[] | undefined;
  readonly rest: Rest | undefined;
  readonly draining: Draining | undefined;
  readonly autoscaler: "hpa" | "keda" | undefined;
  readonly data: DataSeen | undefined;
  readonly volumes: VolumesSeen | undefined;
  readonly acceptedLoss: AcceptedLoss;
}

const VERSIONS_MAX = 5;

function knownOf(data: DataSeen | undefined): EnvironmentStatus["data"] {
  const { lastSnapshotId, lastSnapshotTime } = data?.backup ?? {};
  const snapshot = lastSnapshotId === undefined || lastSnapshotTime === undefined ? {} : { lastSnapshotId, lastSnapshotTime };
  return data?.usedBytes === undefined ? snapshot : { ...snapshot, usedBytes: data.usedBytes };
}

/** Volumes are recorded while there are data on them; those that are lost stay recorded until somebody accepts that. */
function volumesOf(
  before: EnvironmentStatus | undefined,
  seen: VolumesSeen | undefined,
  isReady: boolean,
): Pick<NonNullable<EnvironmentStatus["data"]>, "present" | "volumes" | "acceptedLoss"> {
  const recorded = before?.data?.volumes;
  const present = isReady || (before?.data?.present === true && seen?.isLost !== true);
  const acceptedLoss = seen?.isLost === true && seen.accepted !== undefined ? seen.accepted.mark : before?.data?.acceptedLoss;
  const isNew = seen !== undefined && (present || seen.isLost);
  const volumes = isNew ? seen.records : (recorded ?? []);
  return { present, volumes: volumes.length === 0 ? undefined : [...volumes], acceptedLoss };
}

/** What was known and is not seen anew stays. */
function statusOf(environment: Environment, facts: StatusFacts): EnvironmentStatus {
  const { set, isReady, publicKeys, rest: resting, draining, autoscaler, data, volumes, acceptedLoss, ...rest } = facts;
  const { status: before, spec } = environment;
  const current = isReady ? spec.version : before?.version?.current;
  const history = before?.version?.history ?? [];
  const isNew = current !== undefined && history[0] !== current;
  const replicas = set?.status?.replicas ?? 0;
  const ready = set?.status?.readyReplicas ?? 0;
  const asked = set?.spec?.replicas ?? 0;
  const volumeSize = spec.redis.bundled?.size;
  return JSON.parse(
    JSON.stringify({
      ...rest,
      endpoints: { ingress: `https://${rest.host}:8080`, admin: `https://${rest.host}:9070` },
      version: {
        current,
        target: spec.version,
        history: isNew ? [current, ...history].slice(0, VERSIONS_MAX) : history.length > 0 ? history : undefined,
        featureMarkers: before?.version?.featureMarkers,
      },
      workers: {
        replicas,
        ready,
        updated: set?.status?.updatedReplicas ?? 0,
        summary: `${ready}/${asked}`,
        selector: `perdure.dev/environment=${spec.environmentId.slice("env_".length)},app.kubernetes.io/component=worker`,
        drainingOrdinal: draining?.ordinal,
        drainingSince: draining?.since,
        autoscaler,
      },
      data: { ...before?.data, ...knownOf(data), ...volumesOf(before, volumes, isReady), volumeSize },
      signingKey: publicKeys === undefined ? before?.signingKey : { publicKeys, fingerprint: fingerprintOf(publicKeys) },
      acceptedDataLoss: acceptedLoss ?? before?.acceptedDataLoss,
      // A pass that was broken off before it knew changes nothing of it.
      hibernation: (resting ?? before)?.hibernation,
      nextWakeTime: (resting ?? before)?.nextWakeTime,
      lastActivityTime: (resting ?? before)?.lastActivityTime,
    }),
  ) as EnvironmentStatus;
}
