/** Parses ids in paths. A malformed id gets the same answer at every route (admin-api.md §1.2). */
import {
  type DeploymentId,
  type EventSubscriptionId,
  type InvocationId,
  type Parsed,
  parseDeploymentId,
  parseEventSubscriptionId,
  parseInvocationId,
  parseScheduleId,
  parseSubscriptionId,
  parseVqueueId,
  type ScheduleId,
  type SubscriptionId,
  type VqueueId,
} from "@perdure/base";
import { RouteError } from "./http/errors.js";
import type { ApiRequest } from "./http/request.js";

export function deploymentParam(request: ApiRequest): DeploymentId {
  return pathId(request, "deployment", parseDeploymentId);
}

export function subscriptionParam(request: ApiRequest): SubscriptionId {
  return pathId(request, "subscription", parseSubscriptionId);
}

export function eventSubscriptionParam(request: ApiRequest): EventSubscriptionId {
  return pathId(request, "event_subscription", parseEventSubscriptionId);
}

export function scheduleParam(request: ApiRequest): ScheduleId {
  return pathId(request, "schedule", parseScheduleId);
}

export function invocationParam(request: ApiRequest): InvocationId {
  return fieldId("invocation_id", parseInvocationId(request.param("invocation_id")));
}

export function vqueueParam(request: ApiRequest): VqueueId {
  return fieldId("vqueue_id", parseVqueueId(request.param("vqueue_id")));
}

function pathId<T>(request: ApiRequest, name: string, parse: (text: string) => Parsed<T>): T {
  const text = request.param(name);
  const parsed = parse(text);
  if (parsed.ok) return parsed.value;
  throw new RouteError(400, `Invalid URL: Cannot parse \`${name}\` with value \`${text}\`: ${parsed.problem}`);
}

function fieldId<T>(name: string, parsed: Parsed<T>): T {
  if (parsed.ok) return parsed.value;
  throw invalidField(name, parsed.problem);
}

function invalidField(name: string, reason: string): RouteError {
  return new RouteError(400, `The request field '${name}' is invalid. Reason: ${reason}`);
}
