/** Every setting of the program `perdure-admin`. Names are those of `perdure server` where they mean the same. */
import {
  environmentSetting,
  metadataSettings,
  redisSettings,
  registryAddresses,
  tlsSettings,
  workerAddresses,
} from "@perdure/cluster-kit";
import {
  advertisedAddress,
  type ConfigInputs,
  endpointSettings,
  flowControlSetting,
  group,
  type LoadedConfig,
  loadRoleConfig,
  processSettings,
  recordScopesSetting,
  undoWindowSetting,
} from "@perdure/process-kit";
import type { z } from "zod";
import { adminSettings } from "../config.js";

export const settings = group("Settings of perdure-admin. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  ...endpointSettings,
  environmentName: environmentSetting,
  experimentalEnableVqueues: flowControlSetting,
  experimentalEnableKafkaScope: recordScopesSetting,
  admin: adminSettings,
  ingress: group("The ingress as the console and tools show it.", {
    advertisedAddress: advertisedAddress("How callers reach the ingress, for display."),
  }),
  tls: tlsSettings,
  metadata: metadataSettings,
  redis: redisSettings,
  registry: registryAddresses,
  undo: group("What can be undone.", { window: undoWindowSetting }),
  worker: group("Where the workers are.", { addresses: workerAddresses }),
});

export type AdminApiSettings = z.output<typeof settings>;

/** Throws PerdureError as `loadRoleConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadRoleConfig(settings, inputs);
}
