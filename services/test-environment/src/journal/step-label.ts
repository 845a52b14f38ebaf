/** Names the steps of a journal as tests write them. */
import { formatDuration } from "@perdure/base";
import type { JournalCommand } from "@perdure/service-protocol";

const SECOND_MS = 1_000;

/**
 * The label of a command; undefined for those that are no step: input, output, and reads of state. `appendedAtMs`: when the command was
 * stored, from which the length of a sleep follows; undefined: now.
 */
export function stepLabel(command: JournalCommand, appendedAtMs: number | undefined): string | undefined {
  switch (command.kind) {
    case "input":
    case "output":
    case "getLazyState":
    case "getLazyStateKeys":
    case "getEagerState":
    case "getEagerStateKeys":
      return undefined;
    case "run":
      return command.name === "" ? "run" : command.name;
    case "sleep":
      return appendedAtMs === undefined ? "sleep" : `sleep ${sleepText(command.wakeUpTimeMs - appendedAtMs)}`;
    case "call":
      return `call ${command.serviceName}/${command.handlerName}`;
    case "oneWayCall":
      return `send ${command.serviceName}/${command.handlerName}`;
    case "setState":
      return `set ${new TextDecoder().decode(command.stateKey)}`;
    case "clearState":
      return `clear ${new TextDecoder().decode(command.stateKey)}`;
    case "clearAllState":
      return "clear all state";
    case "getPromise":
      return `await promise ${command.key}`;
    case "peekPromise":
      return `peek promise ${command.key}`;
    case "completePromise":
      return `complete promise ${command.key}`;
    case "sendSignal":
      return "send signal";
    case "completeAwakeable":
      return "complete awakeable";
    case "attachInvocation":
      return "attach";
    case "getInvocationOutput":
      return "get output";
  }
}

/** The handler named the end of the sleep a few milliseconds before it was stored, so the length is rounded to what a person writes. */
function sleepText(ms: number): string {
  const unit = ms >= 10 * SECOND_MS ? SECOND_MS : ms >= SECOND_MS ? 100 : 10;
  return formatDuration(Math.max(0, ms >= SECOND_MS ? Math.round(ms / unit) * unit : Math.ceil(ms / unit) * unit));
}
