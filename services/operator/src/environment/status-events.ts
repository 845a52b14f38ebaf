/**
 * Writes an event besides the condition for what an operator of the cluster must act on or should be informed about: once, when it begins.
 */
import type { EnvironmentResource, EnvironmentResourceStatus } from "@perdure/custom-resources";
import type { EventRecorder } from "@perdure/kubernetes";
import { ACTION_REASONS } from "./action-reasons.js";
import type { summary } from "./observe.js";

/** Operators of services must configure the keys with which requests to them are signed. */
export async function reportKeyChange(
  { status: before, ...environment }: EnvironmentResource,
  now: EnvironmentResourceStatus,
  events: EventRecorder,
): Promise<void> {
  const [current, ...others] = now.signingKey?.publicKeys ?? [];
  const previous = before?.signingKey?.publicKeys ?? [];
  if (previous.length === 0 || current === undefined || previous.join() === now.signingKey?.publicKeys?.join()) return;
  const note = `requests to services are signed with ${current}; configure services to accept ${others.join(" and ") || "no other key"}, too`;
  await events.record(environment, { type: "Normal", reason: "SigningKeys", action: "Rotate", note });
}

/** Reports that a Secret of the operator was deleted or changed and is restored; no pod was replaced. */
export async function reportPasswordRestored(environment: EnvironmentResource, events: EventRecorder): Promise<void> {
  const note = "Secret redis-auth was missing or changed: it holds again the password that Redis and the workers run with";
  const event = { type: "Warning", reason: "RedisPasswordRestored", action: "Restore", note } as const;
  await events.record(environment, event);
}

export async function warnOfNew(
  environment: EnvironmentResource,
  now: ReturnType<typeof summary>,
  events: EventRecorder,
): Promise<void> {
  const before = environment.status?.conditions ?? [];
  for (const { type, status, reason, message } of now) {
    const isNew = before.find((one) => one.type === type)?.reason !== reason;
    if (type === "Ready" || status === "True" || !isNew || !ACTION_REASONS.has(reason)) continue;
    await events.record(environment, { type: "Warning", reason, action: "Reconcile", note: message });
  }
}
