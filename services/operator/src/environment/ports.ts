/** Why: what reconciling an environment works with; the operator composes it once. */
import type { Clock, Logger } from "@perdure/base";
import type { EventRecorder, KubernetesClient } from "@perdure/driver-kubernetes";
import type { Applier } from "../applier.js";
import type { Caches } from "../caches.js";
import type { Cell } from "../cell.js";
import type { Definitions } from "../definitions.js";
import type { OperatorMetrics } from "../metrics.js";
import type { LossDoor, WorkerDoor } from "../worker-door.js";
import type { EnvironmentDatabases } from "./databases.js";
import type { FrontChecks } from "./front-checks.js";
import type { OwnWrites } from "./own-writes.js";
import type { RedisLooks } from "./redis-looks.js";
import type { ReleaseTurns } from "./release.js";
import type { RetainedNotes } from "./retained-notes.js";
import type { VolumeRetention } from "./retained-volumes.js";
import type { SecretCopies } from "./secret-copies.js";
import type { SecretTurns } from "./secret-turns.js";
import type { StartLooks } from "./start-looks.js";
import type { StatusPacing } from "./status-pacing.js";
import type { VolumeLooks } from "./volume-looks.js";

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
  readonly frontChecks: FrontChecks;
  readonly volumeLooks: VolumeLooks;
  readonly retention: VolumeRetention;
  readonly notes: RetainedNotes;
  readonly startLooks: StartLooks;
  /** The same for pods of Redis. */
  readonly redisStartLooks: StartLooks;
  readonly statusPacing: StatusPacing;
  readonly secretCopies: SecretCopies;
  readonly definitions: Pick<Definitions, "outdated">;
}

/** `wait`: reconcile again after that time at the latest. */
export type Reconciled = { readonly kind: "ok" } | { readonly kind: "wait"; readonly againMs: number };
