/** The dependencies of reconciling an environment; the operator composes them once. */
import type { Clock, Logger } from "@perdure/base";
import type { EventRecorder, KubernetesClient } from "@perdure/kubernetes";
import type { ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import type { Cell } from "../cell.js";
import type { Definitions } from "../definitions.js";
import type { OperatorMetrics } from "../metrics.js";
import type { RedisFailover } from "../redis-failover/failover.js";
import type { DataLossClient, WorkerClient } from "../worker-client.js";
import type { EnvironmentDatabases } from "./databases.js";
import type { FrontChecks } from "./front-checks.js";
import type { OwnWrites } from "./own-writes.js";
import type { RedisChecks } from "./redis-checks.js";
import type { ReleaseTurns } from "./release.js";
import type { RetainedNotes } from "./retained-notes.js";
import type { VolumeRetention } from "./retained-volumes.js";
import type { SecretCopies } from "./secret-copies.js";
import type { SecretTurns } from "./secret-turns.js";
import type { StartChecks } from "./start-checks.js";
import type { StatusPacing } from "./status-pacing.js";
import type { VolumePoller } from "./volume-poller.js";

export interface EnvironmentReconcilePorts {
  readonly client: KubernetesClient;
  readonly applier: ObjectApplier;
  readonly caches: Caches;
  readonly cell: Cell;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly metrics: Pick<OperatorMetrics, "readiness" | "snapshots" | "volumes">;
  readonly logger: Logger;
  readonly workerClient: WorkerClient & DataLossClient;
  readonly writes: OwnWrites;
  readonly turns: ReleaseTurns;
  readonly secretTurns: SecretTurns;
  readonly databases: EnvironmentDatabases;
  readonly redisChecks: RedisChecks;
  readonly redisFailover: RedisFailover;
  readonly frontChecks: FrontChecks;
  readonly volumePoller: VolumePoller;
  readonly retention: VolumeRetention;
  readonly notes: RetainedNotes;
  readonly startChecks: StartChecks;
  /** Start checks of the Redis pods. */
  readonly redisStartChecks: StartChecks;
  readonly statusPacing: StatusPacing;
  readonly secretCopies: SecretCopies;
  readonly definitions: Pick<Definitions, "outdated">;
}

/** `wait`: reconcile again after that time at the latest. */
export type Reconciled = { readonly kind: "ok" } | { readonly kind: "wait"; readonly againMs: number };
