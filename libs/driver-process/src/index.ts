/** Why: an environment's runtime as a process of this machine: started, watched, started again, and adopted from whoever ran it before. */
export type { PortRange } from "./ports.js";
export { openProcessProvisioner, type ProcessProvisionerOptions, type ProcessProvisionerPorts } from "./provisioner.js";
export { type LogLine, type LogSpan, readRuntimeLogs } from "./runtime-log.js";
export { stopRuntimesOf } from "./stop-all.js";
