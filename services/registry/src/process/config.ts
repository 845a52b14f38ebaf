/** Every setting of the program `perdure-registry`. Names are those of `perdure server` where they mean the same. */
import {
  environmentSetting,
  grpcSettings,
  metadataSettings,
  probeSettings,
  redisSettings,
  tlsSettings,
  workerAddresses,
} from "@perdure/cluster-kit";
import {
  type ConfigInputs,
  endpointSettings,
  eventSettings,
  flowControlSetting,
  group,
  type LoadedConfig,
  loadRoleConfig,
  processSettings,
  tunnelSettings,
} from "@perdure/process-kit";
import type { z } from "zod";
import { attemptDefaultsGroup, kafkaClustersSetting, planLimitSettings, retentionDefaults } from "../config.js";

export const settings = group("Settings of perdure-registry. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  ...endpointSettings,
  environmentName: environmentSetting,
  experimentalEnableVqueues: flowControlSetting,
  grpc: grpcSettings,
  probes: probeSettings,
  tls: tlsSettings,
  metadata: metadataSettings,
  redis: redisSettings,
  ingress: group("Settings shared with the ingress.", { kafkaClusters: kafkaClustersSetting }),
  worker: group("Workers, and defaults of services.", {
    addresses: workerAddresses,
    ...retentionDefaults,
    invoker: attemptDefaultsGroup,
  }),
  tunnels: tunnelSettings,
  limits: group("Limits of an environment by the plan of its account; unlimited when not set.", planLimitSettings),
  events: group("Events about the environment.", eventSettings),
});

export type RegistrySettings = z.output<typeof settings>;

/** Throws PerdureError as `loadRoleConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadRoleConfig(settings, inputs);
}
