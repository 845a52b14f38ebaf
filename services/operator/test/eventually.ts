/** Waits for effects of the operator, which appear a little later, and reads its events. */
import type { EnvironmentResource } from "@perdure/custom-resources";
import { CLUSTER_EVENTS_NAMESPACE, resources } from "@perdure/kubernetes";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import type { World } from "./world.js";

const TIMEOUT_MS = 60_000;
const POLL_MS = 50;
const QUESTIONS = 100;

/** Resolves when it holds; rejects after some minutes, at the line that waited. */
export async function eventually(holds: () => Promise<boolean>, withinMs = TIMEOUT_MS): Promise<void> {
  const timeoutError = new Error("it did not come about");
  for (const deadline = performance.now() + withinMs * TIMEOUT_FACTOR; !(await holds()); ) {
    if (performance.now() > deadline) throw timeoutError;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/**
 * Milliseconds allowed for something that takes `withinMs` on an idle machine: on a busy one as long as some hundred requests to the API
 * server, each of which is a small part of a reconcile.
 */
export async function allowance(withinMs: number, { client }: Pick<World, "client">): Promise<number> {
  const startedAt = performance.now();
  for (let n = 0; n < QUESTIONS; n++) await client.list(resources.namespaces);
  return Math.max(withinMs, performance.now() - startedAt);
}

/** Notes of events about an environment. */
export async function eventsOf(
  world: Pick<World, "client">,
  { metadata }: EnvironmentResource,
  reason: string,
): Promise<string[]> {
  const { items } = await world.client.list(resources.events, { namespace: CLUSTER_EVENTS_NAMESPACE });
  return items
    .filter((event) => event["reason"] === reason && (event["regarding"] as { readonly uid?: string }).uid === metadata.uid)
    .map((event) => event["note"] as string);
}
