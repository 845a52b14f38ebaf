/** Every setting of the program `perdure-worker`. Names are those of `perdure server` where they mean the same. */
import {
  environmentSetting,
  grpcSettings,
  metadataSettings,
  probeSettings,
  redisSettings,
  registryAddresses,
  tlsSettings,
} from "@perdure/cluster-kit";
import {
  boolean,
  type ConfigInputs,
  duration,
  endpointSettings,
  flowControlSetting,
  group,
  type LoadedConfig,
  loadRoleConfig,
  optionalText,
  processSettings,
  recordScopesSetting,
  tunnelSettings,
  undoBytesSetting,
} from "@perdure/process-kit";
import type { z } from "zod";
import { workerSettings } from "../config.js";

const archiveSettings = group(
  "Completed invocations move from Redis to the database of 'metadata.postgres-url'; without one nothing is archived.",
  {
    age: duration("10m", { sentence: "How long an invocation has been complete when it is archived (duration).", minMs: 1 }),
    interval: duration("10s", { sentence: "How often a worker searches for invocations to archive (duration).", minMs: 10 }),
  },
);

export const settings = group("Settings of perdure-worker. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  ...endpointSettings,
  environmentName: environmentSetting,
  experimentalEnableVqueues: flowControlSetting,
  experimentalEnableKafkaScope: recordScopesSetting,
  grpc: grpcSettings,
  advertisedAddress: optionalText({
    sentence: "Address at which other processes reach the gRPC port, host:port; localhost and the bound port when not set.",
  }),
  probes: probeSettings,
  tls: tlsSettings,
  redis: redisSettings,
  metadata: metadataSettings,
  archive: archiveSettings,
  tracingCommits: boolean(false, {
    sentence: "A span for each commit to Redis of a trace that is kept; there are several for an invocation.",
  }),
  registry: registryAddresses,
  worker: workerSettings,
  tunnels: tunnelSettings,
  undo: group("What can be undone.", { bytesMax: undoBytesSetting }),
});

export type InvokerWorkerSettings = z.output<typeof settings>;

/** Throws PerdureError as `loadRoleConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadRoleConfig(settings, inputs);
}
