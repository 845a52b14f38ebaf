/** Every setting of `perdure server`, with its sentence, unit and default, and the files and addresses that follow from them. */
import { resolve } from "node:path";
import { adminSettings } from "@perdure/admin-api";
import { ingressSettingsShape } from "@perdure/ingress-gateway";
import { workerSettings } from "@perdure/invoker-worker";
import { kafkaClustersSetting } from "@perdure/registry";
import {
  type Alias,
  boolean,
  type ConfigInputs,
  endpointSettings,
  flowControlSetting,
  group,
  type LoadedConfig,
  loadConfig,
  optionalText,
  processSettings,
  RESERVED_VARIABLES,
  text,
} from "@perdure/role";
import type { z } from "zod";

const ingressSettings = group("The HTTP door for callers of services.", {
  ...ingressSettingsShape,
  kafkaClusters: kafkaClustersSetting,
});

export const settings = group("Settings of perdure server. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  baseDir: text("perdure-data", { sentence: "Directory for all data; a relative one is below the current directory." }),
  disableTelemetry: boolean(true, {
    sentence: "Usage is never reported to anybody; accepted for the sake of existing settings files.",
  }),
  ...endpointSettings,
  experimentalEnableVqueues: flowControlSetting,
  ingress: ingressSettings,
  admin: adminSettings,
  meta: group("Where deployments, services and subscriptions are remembered.", {
    storagePath: optionalText({ sentence: "Directory; <base-dir>/<node-name>/local-metadata-store when not set." }),
  }),
  worker: workerSettings,
});

export type Settings = z.output<typeof settings>;
export type LoadedSettings = LoadedConfig<typeof settings>;

/** Names under which the reference knows what is kept elsewhere here. */
const ALIASES: readonly Alias[] = [
  { alias: "default-retry-policy", name: "worker.invoker.defaultRetryPolicy" },
  { alias: "max-retry-policy-max-attempts", name: "worker.invoker.maxRetryPolicyMaxAttempts" },
  { alias: "default-journal-retention", name: "worker.defaultJournalRetention" },
  { alias: "max-journal-retention", name: "worker.maxJournalRetention" },
  { alias: "default-num-partitions", name: "worker.numPartitions" },
  { alias: "worker.invoker.additional-request-headers", name: "additionalRequestHeaders" },
];

/** `flags` without `--config-file`. Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedSettings {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: ALIASES });
}

/** Absolute directories that follow from the settings. */
export function directoriesOf({ baseDir, nodeName, worker, meta }: Settings): {
  node: string;
  partitions: string;
  metadata: string;
} {
  const node = resolve(baseDir, nodeName);
  return {
    node,
    partitions: worker.storageRocksdb.path === undefined ? resolve(node, "db") : resolve(worker.storageRocksdb.path),
    metadata: meta.storagePath === undefined ? resolve(node, "local-metadata-store") : resolve(meta.storagePath),
  };
}
