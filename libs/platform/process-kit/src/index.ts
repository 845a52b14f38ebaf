/** What every process needs: settings, start and stop in order, probes, health and draining. Listeners are exported by `@perdure/process-kit/http`. */

export { CommitProbe } from "./commit-probe.js";
export { type ConfigInputs, type LoadedConfig, loadConfig } from "./config/load.js";
export { dottedName } from "./config/names.js";
export { printConfig } from "./config/print.js";
export {
  boolean,
  byteSize,
  choice,
  custom,
  duration,
  group,
  inlineTable,
  integer,
  optionalByteSize,
  optionalDuration,
  optionalInteger,
  optionalText,
  port,
  text,
  textMap,
  tomlValue,
  traceUrl,
} from "./config/setting.js";
export { variableOf } from "./config/sources.js";
export { type GroupSchema, type SettingNode, settingTree } from "./config/tree.js";
export { ConnectionErrors, connectionErrorKind, type UncaughtOrigin } from "./connection-errors.js";
export * from "./health.js";
export { largeGarbage } from "./idle-collection.js";
export * from "./lifecycle.js";
export * from "./polled.js";
export type { ProcessCommand } from "./process/command.js";
export type { ErrorAdvice } from "./process/explain.js";
export {
  type ProcessOrigin,
  type ProcessPorts,
  type ProcessSpec,
  type ReadyFacts,
  runProcess,
  runProgram,
  type SettingInputs,
} from "./process/run.js";
export { runTask, type TaskSpec } from "./process/task.js";
export { type OpenThread, openThread, type ThreadSetup, threadSetup } from "./process/thread.js";
export * from "./setting-file.js";
export { attemptSettings, type RetentionSettings, retentionSettings, retryPolicyOf } from "./settings/attempts.js";
export { type EgressSettings, egressGuardOf } from "./settings/egress.js";
export { endpointSettings, requestHeadersOf } from "./settings/endpoints.js";
export { eventOptionsOf, eventSettings } from "./settings/events.js";
export { advertisedAddress, bindAddress, bindPort, loopbackAddress } from "./settings/listener.js";
export {
  flowControlSetting,
  processSettings,
  RESERVED_VARIABLES,
  recordScopesOf,
  recordScopesSetting,
} from "./settings/process.js";
export { loadRoleConfig } from "./settings/runtime-role.js";
export { trustedProxiesOf, trustedProxySettings } from "./settings/trusted-proxies.js";
export { type TunnelSettings, type TunnelSetup, tunnelSettings, tunnelsOf } from "./settings/tunnels.js";
export { UNDO_WINDOW_MAX_MS, undoBytesSetting, undoWindowSetting } from "./settings/undo.js";
export * from "./until-available.js";
