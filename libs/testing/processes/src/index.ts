/** Starts, watches and stops programs on this machine, and finds them again after a crash. */
export { ChildProgram, type ChildProgramOptions, type ProgramExit, runningPrograms, type StopOptions } from "./child-program.js";
export { type CommandOptions, type CommandResult, RunningCommand, runCommand } from "./command.js";
export { runApart } from "./foreground.js";
export { chosenPort } from "./port-choice.js";
export { type GroupMember, ProcessGroup } from "./process-group.js";
export { type ProcessStage, Record, startOf } from "./record.js";
export { type SupervisedPlace, type SupervisionMessages, stopSupervised, supervise } from "./supervisor.js";
