/** Every setting of `perdure server`, with its sentence, unit and default, and the files and addresses that follow from them. */
import { resolve } from "node:path";
import { adminSettingsShape } from "@perdure/admin-api";
import { ingressSettingsShape } from "@perdure/ingress-gateway";
import { WORKER_SETTINGS_SENTENCE, workerSettingsShape } from "@perdure/invoker-worker";
import {
  boolean,
  type ConfigInputs,
  choice,
  endpointSettings,
  eventSettings,
  flowControlSetting,
  group,
  type LoadedConfig,
  loadRoleConfig,
  optionalByteSize,
  optionalText,
  processSettings,
  recordScopesSetting,
  text,
  tunnelSettings,
  undoBytesSetting,
  undoWindowSetting,
} from "@perdure/process-kit";
import { kafkaClustersSetting, planLimitSettings } from "@perdure/registry";
import type { z } from "zod";
import { threadsSetting } from "./threads/thread-count.js";

const ingressSettings = group("The HTTP listener for callers of services.", {
  ...ingressSettingsShape,
  kafkaClusters: kafkaClustersSetting,
});

const adminSettingsWithCrash = group("The management API.", {
  ...adminSettingsShape,
  disableCrashAttempt: boolean(false, {
    sentence: "Whether requests that cut off running attempts are disabled; on the runtime of an environment they always are.",
  }),
});

const workerSettings = group(WORKER_SETTINGS_SENTENCE, { ...workerSettingsShape, threads: threadsSetting });

const runtimeSettings = group("For a server that is the runtime of an environment, behind a gateway.", {
  secretFile: optionalText({
    sentence:
      "File with the secret that requests must send in x-perdure-runtime-secret (else 401). All requests are accepted when not set.",
  }),
  mode: choice(["running", "suspended"], "running", {
    sentence: "suspended: only reads are served, nothing runs and nothing fires; work that becomes due is done afterwards.",
  }),
});

const limitSettings = group("Limits of an environment by the plan of its account; unlimited when not set.", {
  ...planLimitSettings,
  storedBytes: optionalByteSize({
    sentence: "State, journals and results on disk; beyond it what would add to them is refused with TEN0003.",
  }),
});

export const settings = group("Settings of perdure server. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  baseDir: text("perdure-data", { sentence: "Directory for all data; a relative one is below the current directory." }),
  disableTelemetry: boolean(true, {
    sentence: "Usage is never reported; the setting is accepted because existing files have it.",
  }),
  ...endpointSettings,
  experimentalEnableVqueues: flowControlSetting,
  experimentalEnableKafkaScope: recordScopesSetting,
  ingress: ingressSettings,
  admin: adminSettingsWithCrash,
  meta: group("Storage of deployments, services and subscriptions.", {
    storagePath: optionalText({ sentence: "Directory; <base-dir>/<node-name>/local-metadata-store when not set." }),
  }),
  worker: workerSettings,
  runtime: runtimeSettings,
  tunnels: tunnelSettings,
  limits: limitSettings,
  undo: group("What can be undone.", { window: undoWindowSetting, bytesMax: undoBytesSetting }),
  events: group("Events about the environment.", eventSettings),
});

export type StandaloneSettings = z.output<typeof settings>;
type LoadedSettings = LoadedConfig<typeof settings>;

/** `flags` without `--config-file`. Throws PerdureError as `loadRoleConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedSettings {
  return loadRoleConfig(settings, inputs);
}

/** Absolute directories that follow from the settings. */
export function directoriesOf({ baseDir, nodeName, worker, meta }: StandaloneSettings): {
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
