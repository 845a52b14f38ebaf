/**
 * Runs an environment's runtime as a process of this machine: starts, watches and restarts it, and adopts one that an earlier process
 * started.
 */
export type { PortRange } from "./ports.js";
export { openProcessProvisioner, type ProcessProvisionerOptions, type ProcessProvisionerPorts } from "./provisioner.js";
export { type LogLine, type LogSpan, readRuntimeLogs } from "./runtime-log.js";
export { stopRuntimesOf } from "./stop-all.js";
