/**
 * Calls between handlers: the callee is resolved against the registry's latest revision, and its id is fixed before the command is
 * stored, so that it is the same however often the command is applied (service-protocol §5).
 */
import {
  type Clock,
  type InvocationId,
  idempotentInvocationId,
  newInvocationId,
  type PreferredPartitions,
  type Random,
  workflowInvocationId,
} from "@perdure/base";
import { type HandlerView, type RegistrySnapshot, type RegistryView, retentionsOf } from "@perdure/control";
import {
  type CallCommand,
  encodeInput,
  isSupportedVersion,
  type OneWayCallCommand,
  protocolVersionMin,
} from "@perdure/service-protocol";
import { type Callee, type InvocationFacts, type Target, WEBHOOK_SERVICE } from "@perdure/state-machine";
import { type RefusedCommand, refused } from "./attempt-failure.js";
import { type FlowOptions, flowOptionsOf } from "./scope.js";
import { childSpan, sentSpan } from "./trace.js";

export interface CalleeDeps {
  readonly registry: RegistryView;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether flow control is enabled. */
  readonly scopesEnabled: boolean;
  /** See `InvokerOptions`. */
  readonly preferredPartitions?: PreferredPartitions | undefined;
}

/** The invocation that `command` requests, or the failure: RT0017, RT0018, RT0020, RT0024. */
export function resolveCallee(
  caller: InvocationFacts,
  command: CallCommand | OneWayCallCommand,
  deps: CalleeDeps,
): Callee | RefusedCommand {
  // It signs what it is called with, and only events may be signed.
  if (command.serviceName === WEBHOOK_SERVICE) return refused("RT0018", `service ${WEBHOOK_SERVICE} cannot be called`);
  const snapshot = deps.registry.current();
  const handler = snapshot.services.get(command.serviceName)?.handlers.get(command.handlerName);
  if (handler === undefined) return notRegistered(snapshot, command);
  if (handler.serviceType === "service" && command.key !== "") {
    return refused("RT0017", `${command.serviceName} is a plain service and has no key, but one was given`);
  }
  if (command.idempotencyKey === "") return refused("RT0017", "the idempotency key is empty");
  const options = flowOptionsOf(command, handler.serviceType, deps.scopesEnabled);
  if ("kind" in options) return options;
  const deprecated = checkProtocol(snapshot, command.serviceName);
  if (deprecated !== undefined) return deprecated;
  return { facts: calleeFacts(caller, command, handler, options, deps), input: encodeInput(options.headers, command.parameter) };
}

function notRegistered(
  snapshot: RegistrySnapshot,
  { serviceName, handlerName }: CallCommand | OneWayCallCommand,
): RefusedCommand {
  return snapshot.services.has(serviceName)
    ? refused("RT0018", `service ${serviceName} has no handler ${handlerName}`)
    : refused("RT0018", `service ${serviceName} is not registered`);
}

function checkProtocol(snapshot: RegistrySnapshot, serviceName: string): RefusedCommand | undefined {
  const id = snapshot.services.get(serviceName)?.deploymentId;
  const deployment = id === undefined ? undefined : snapshot.deployments.get(id);
  if (deployment === undefined || deployment.maxProtocolVersion >= protocolVersionMin) return undefined;
  const spoken = isSupportedVersion(deployment.maxProtocolVersion)
    ? ""
    : `, which speaks service protocol ${deployment.maxProtocolVersion} at most`;
  return refused("RT0020", `${serviceName} is served only by deployment ${deployment.id}${spoken}`);
}

function calleeFacts(
  caller: InvocationFacts,
  command: CallCommand | OneWayCallCommand,
  handler: HandlerView,
  options: FlowOptions,
  { clock, random, preferredPartitions }: CalleeDeps,
): InvocationFacts {
  const nowMs = clock.nowMs();
  const target: Target = {
    service: command.serviceName,
    key: handler.serviceType === "service" ? undefined : command.key,
    handler: command.handlerName,
    serviceType: handler.serviceType,
    handlerType: handler.handlerType,
    scope: options.scope,
  };
  // The key alone identifies the run of a workflow.
  const idempotencyKey = handler.handlerType === "workflow" ? undefined : command.idempotencyKey;
  const retentions = retentionsOf(handler, idempotencyKey);
  const invokeTimeMs = command.kind === "oneWayCall" ? command.invokeTimeMs : 0;
  return {
    id: calleeIdOf(target, idempotencyKey) ?? newInvocationId(target, nowMs, random, preferredPartitions),
    target,
    source: { kind: "service", callerId: caller.id, callerTarget: caller.target },
    idempotencyKey,
    requestId: 0,
    createdAtMs: nowMs,
    executionTimeMs: invokeTimeMs > nowMs ? invokeTimeMs : undefined,
    completionRetentionMs: retentions.completionMs,
    journalRetentionMs: retentions.journalMs,
    randomSeed: undefined,
    trace: command.kind === "oneWayCall" ? sentSpan(caller.trace, random) : childSpan(caller.trace, random),
    limitKey: options.limitKey,
    priority: options.priority,
    event: caller.event,
    bytes: undefined,
  };
}

/** The id that follows from the keys of the call; undefined when each call has its own. */
function calleeIdOf(target: Target, idempotencyKey: string | undefined): InvocationId | undefined {
  if (target.handlerType === "workflow" && target.key !== undefined)
    return workflowInvocationId(target.service, target.key, target.scope);
  return idempotencyKey === undefined ? undefined : idempotentInvocationId(target, idempotencyKey);
}
