export { isHelp, isVersion, type ProcessCommand, processCommand } from "./command.js";
export { type ErrorAdvice, explain } from "./explain.js";
export { type ProcessPorts, type ProcessSpec, type ReadyFacts, runProcess, runProgram } from "./run.js";
export { runTask, type TaskPorts, type TaskSpec } from "./task.js";
