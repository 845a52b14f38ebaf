/** Every setting of the program `perdure-gateway`. Names are those of `perdure server` where they mean the same. */
import { probeSettings, registryAddresses, tlsSettings, workerAddresses } from "@perdure/cluster-kit";
import {
  type ConfigInputs,
  flowControlSetting,
  group,
  type LoadedConfig,
  loadRoleConfig,
  processSettings,
} from "@perdure/process-kit";
import type { z } from "zod";
import { ingressSettings } from "../config.js";

export const settings = group("Settings of perdure-gateway. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  experimentalEnableVqueues: flowControlSetting,
  ingress: ingressSettings,
  probes: probeSettings,
  tls: tlsSettings,
  registry: registryAddresses,
  worker: group("Where the workers are.", { addresses: workerAddresses }),
});

export type IngressGatewaySettings = z.output<typeof settings>;

/** Throws PerdureError as `loadRoleConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadRoleConfig(settings, inputs);
}
