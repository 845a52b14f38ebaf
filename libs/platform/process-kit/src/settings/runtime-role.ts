/**
 * Settings of the roles of a runtime, in one process or in several: they have one set of names, which the reference server's names reach, too.
 */
import type { z } from "zod";
import { type ConfigInputs, type LoadedConfig, loadConfig } from "../config/load.js";
import type { Alias } from "../config/sources.js";
import type { GroupSchema } from "../config/tree.js";
import { RESERVED_VARIABLES } from "./process.js";

/** Reference names of settings that have another place here. A role without the setting has no use for its alias either. */
const REFERENCE_ALIASES: readonly Alias[] = [
  { alias: "default-retry-policy", name: "worker.invoker.defaultRetryPolicy" },
  { alias: "max-retry-policy-max-attempts", name: "worker.invoker.maxRetryPolicyMaxAttempts" },
  { alias: "default-journal-retention", name: "worker.defaultJournalRetention" },
  { alias: "max-journal-retention", name: "worker.maxJournalRetention" },
  { alias: "default-num-partitions", name: "worker.numPartitions" },
  { alias: "worker.invoker.additional-request-headers", name: "additionalRequestHeaders" },
];

/** Loads the settings of one role. `flags` without `--config-file`. Throws PerdureError as `loadConfig` does. */
export function loadRoleConfig<S extends GroupSchema & z.ZodType>(
  schema: S,
  inputs: Pick<ConfigInputs, "file" | "environment" | "flags">,
): LoadedConfig<S> {
  return loadConfig(schema, {
    ...inputs,
    reservedVariables: RESERVED_VARIABLES,
    aliases: REFERENCE_ALIASES,
    readsRestateVariables: true,
  });
}
