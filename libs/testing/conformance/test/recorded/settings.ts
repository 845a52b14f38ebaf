/** Why: a recorded world and the processes that finish it need the same settings. */
import type { DevClusterOptions, RoleSettings } from "@perdure/dev-cluster";

/** Scopes need version 7 of the service protocol. */
export const SERVER_SETTINGS: RoleSettings = { "worker.invoker.max-protocol-version": 7 };

export const CLUSTER_OPTIONS = {
  workers: 2,
  gateways: 1,
  workerSettings: SERVER_SETTINGS,
} as const satisfies DevClusterOptions;
