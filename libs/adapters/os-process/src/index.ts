/**
 * Runs the runtime of an environment as a process of this machine. It starts, watches and restarts the process, and adopts one that an
 * earlier process started.
 */
export type { PortRange } from "./ports.js";
export { openProcessProvisioner, type ProcessProvisionerOptions } from "./provisioner.js";
export { type LogLine, type LogSpan, readRuntimeLogs } from "./runtime-log.js";
export { stopRuntimesOf } from "./stop-all.js";
