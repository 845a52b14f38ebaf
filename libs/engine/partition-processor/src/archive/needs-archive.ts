/** Determines which commands may concern an invocation that has left the store for the archive. */
import { isWorkflowRun, type PartitionCommand } from "@perdure/state-machine";

/**
 * Whether the command has a different result for an archived invocation than for a missing one. Most have not: commands to a completed
 * invocation are dropped, and so are those to a missing one.
 */
export function needsArchive(command: PartitionCommand, isAnswered: boolean): boolean {
  switch (command.kind) {
    case "invoke": {
      const { idempotencyKey, target } = command.facts;
      // As in the core: a random id that is submitted for the first time cannot exist yet.
      return idempotencyKey !== undefined || command.resubmission === true || isWorkflowRun(target);
    }
    case "attach":
    case "queryOutput":
    case "restartAsNew":
      return true;
    case "cancel":
    case "kill":
    case "pause":
    case "resume":
      return isAnswered;
    case "purge":
    case "purgeJournal":
    case "timerFired":
    case "undo":
      return changesCompleted(command);
    default:
      return false;
  }
}

/** Whether the command may delete a completed invocation or its journal, or continue the invocation. */
export function changesCompleted(command: PartitionCommand): boolean {
  if (command.kind === "timerFired") return command.timer.kind === "purge" || command.timer.kind === "purgeJournal";
  return command.kind === "undo" || command.kind === "purge" || command.kind === "purgeJournal";
}
