/** Every setting of the program `perdure-worker`. Names are those of `perdure server` where they mean the same. */
import { environmentSetting, grpcSettings, probeSettings, redisSettings, registryAddresses, tlsSettings } from "@perdure/cluster";
import {
  type ConfigInputs,
  endpointSettings,
  flowControlSetting,
  group,
  type LoadedConfig,
  loadConfig,
  optionalText,
  processSettings,
  RESERVED_VARIABLES,
} from "@perdure/role";
import type { z } from "zod";
import { workerSettings } from "../config.js";

export const settings = group("Settings of perdure-worker. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  ...endpointSettings,
  environmentName: environmentSetting,
  experimentalEnableVqueues: flowControlSetting,
  grpc: grpcSettings,
  advertisedAddress: optionalText({
    sentence: "Where other processes reach the gRPC door, host:port; localhost and the bound port when not set.",
  }),
  probes: probeSettings,
  tls: tlsSettings,
  redis: redisSettings,
  registry: registryAddresses,
  worker: workerSettings,
});

export type Settings = z.output<typeof settings>;

/** Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: [] });
}
