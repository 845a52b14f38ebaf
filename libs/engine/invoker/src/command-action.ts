/**
 * The effects of a journal command, decided before the command is stored. Preconditions that need the registry or the target's type
 * (service-protocol §5.1) are checked here, so that the partition receives only commands that it can carry out.
 */
import {
  type InvocationId,
  idempotentInvocationId,
  parseAwakeableId,
  parseInvocationId,
  toBinaryString,
  unreachable,
  workflowInvocationId,
} from "@perdure/base";
import type {
  AttachTarget,
  CompleteAwakeableCommand,
  JournalCommand,
  SendSignalCommand,
  ValueOrFailure,
} from "@perdure/service-protocol";
import type { CommandAction, InvocationFacts, Outcome } from "@perdure/state-machine";
import { type RefusedCommand, refused } from "./attempt-failure.js";
import { type CalleeDeps, resolveCallee } from "./callee.js";
import { checkScope } from "./scope.js";

const NONE: CommandAction = { kind: "none" };
const OUTPUT: CommandAction = { kind: "output" };
const CLEAR_ALL: CommandAction = { kind: "clearAllState" };

/** Byte arrays in the action are views of the command's body, so the command must own the body. */
export function commandAction(facts: InvocationFacts, command: JournalCommand, deps: CalleeDeps): CommandAction | RefusedCommand {
  switch (command.kind) {
    case "input":
      return refused("RT0012", "only the server makes it");
    case "output":
      return OUTPUT;
    case "run":
      return NONE;
    case "getEagerState":
    case "getEagerStateKeys":
      return stateRefusal(facts, false) ?? NONE;
    case "getLazyState":
      return (
        stateRefusal(facts, false) ?? {
          kind: "getLazyState",
          key: toBinaryString(command.stateKey),
          completionId: command.resultCompletionId,
        }
      );
    case "getLazyStateKeys":
      return stateRefusal(facts, false) ?? { kind: "getLazyStateKeys", completionId: command.resultCompletionId };
    case "setState":
      return stateRefusal(facts, true) ?? { kind: "setState", key: toBinaryString(command.stateKey), value: command.value };
    case "clearState":
      return stateRefusal(facts, true) ?? { kind: "clearState", key: toBinaryString(command.stateKey) };
    case "clearAllState":
      return stateRefusal(facts, true) ?? CLEAR_ALL;
    case "getPromise":
    case "peekPromise":
      return promiseRefusal(facts) ?? { kind: command.kind, key: command.key, completionId: command.resultCompletionId };
    case "completePromise":
      return (
        promiseRefusal(facts) ?? {
          kind: "completePromise",
          key: command.key,
          outcome: outcomeOf(command.completion),
          completionId: command.resultCompletionId,
        }
      );
    case "sleep":
      return { kind: "sleep", wakeUpAtMs: command.wakeUpTimeMs, completionId: command.resultCompletionId };
    case "call": {
      const callee = resolveCallee(facts, command, deps);
      if ("kind" in callee) return callee;
      const { invocationIdNotificationIdx: invocationIdCompletionId, resultCompletionId } = command;
      return { kind: "call", callee, invocationIdCompletionId, resultCompletionId };
    }
    case "oneWayCall": {
      const callee = resolveCallee(facts, command, deps);
      if ("kind" in callee) return callee;
      return { kind: "oneWayCall", callee, invocationIdCompletionId: command.invocationIdNotificationIdx };
    }
    case "sendSignal":
      return sendSignal(command);
    case "attachInvocation":
    case "getInvocationOutput": {
      const to = attachTarget(command.target, deps);
      if (typeof to !== "string") return to;
      return { kind: command.kind === "attachInvocation" ? "attach" : "getOutput", to, completionId: command.resultCompletionId };
    }
    case "completeAwakeable":
      return completeAwakeable(command);
    default:
      return unreachable(command);
  }
}

function stateRefusal({ target }: InvocationFacts, writes: boolean): RefusedCommand | undefined {
  if (target.serviceType === "service") return refused("RT0017", `${target.service} is a plain service and has no state`);
  if (writes && target.handlerType === "shared")
    return refused("RT0017", `${target.handler} is a shared handler and cannot change state`);
  return undefined;
}

function promiseRefusal({ target }: InvocationFacts): RefusedCommand | undefined {
  return target.serviceType === "workflow"
    ? undefined
    : refused("RT0017", `${target.service} is not a workflow and has no promises`);
}

function outcomeOf(completion: ValueOrFailure): Outcome {
  return completion.kind === "value"
    ? { kind: "success", value: completion.value }
    : { kind: "failure", failure: completion.failure, stacktrace: undefined };
}

function sendSignal(command: SendSignalCommand): CommandAction | RefusedCommand {
  const to = parseInvocationId(command.targetInvocationId);
  if (!to.ok) return refused("RT0012", `the target is not an invocation id: ${to.problem}`);
  return { kind: "sendSignal", to: to.value, signal: command.signal, result: command.result };
}

/**
 * An awakeable is a signal of its invocation. Ids of older journals name an entry that no journal of this server has: there is nothing to
 * notify.
 */
function completeAwakeable(command: CompleteAwakeableCommand): CommandAction | RefusedCommand {
  const parsed = parseAwakeableId(command.awakeableId);
  if (!parsed.ok) return refused("RT0012", `the awakeable id cannot be read: ${parsed.problem}`);
  const awakeable = parsed.value;
  if (awakeable.kind === "legacy") return NONE;
  const signal = { kind: "signalIndex", index: awakeable.signalIndex } as const;
  return { kind: "sendSignal", to: awakeable.invocationId, signal, result: command.result };
}

/** The target of an attach: an id, or the parts that the id is made of. */
function attachTarget(target: AttachTarget, { registry, scopesEnabled }: CalleeDeps): InvocationId | RefusedCommand {
  switch (target.kind) {
    case "invocationId": {
      const parsed = parseInvocationId(target.invocationId);
      return parsed.ok ? parsed.value : refused("RT0017", `the target is not an invocation id: ${parsed.problem}`);
    }
    case "workflow":
      return (
        checkScope(target.scope, scopesEnabled) ??
        workflowInvocationId(target.workflowName, target.workflowKey, target.scope || undefined)
      );
    case "idempotentRequest": {
      const refusal = checkScope(target.scope, scopesEnabled);
      if (refusal !== undefined) return refusal;
      const plain = registry.current().services.get(target.serviceName)?.serviceType === "service";
      const identity = {
        service: target.serviceName,
        key: plain ? undefined : target.serviceKey,
        handler: target.handlerName,
        scope: target.scope || undefined,
      };
      return idempotentInvocationId(identity, target.idempotencyKey);
    }
    default:
      return unreachable(target);
  }
}
