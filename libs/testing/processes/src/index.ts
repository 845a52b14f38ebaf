/** Runs several programs as one on this machine: starts, watches and stops them in order, and finds them again after a crash. */
export { runApart, STOP_SIGNALS } from "./foreground.js";
export { chosenPort, type PortChoice } from "./port-choice.js";
export { type GroupMember, ProcessGroup, type ProcessStage, type WatchedProcess } from "./process-group.js";
export { isAlive, type ListedProcess, Record, signalTo, startOf } from "./record.js";
export { RoleProcess, type RoleProcessOptions } from "./role-process.js";
export { stopListed } from "./stop-listed.js";
