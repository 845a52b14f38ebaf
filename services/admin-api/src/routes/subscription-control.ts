/**
 * Control of subscriptions. A topic may contain a record that no handler accepts. Operators see the progress of a subscription and the
 * record that blocks it, stop it during a repair, or skip a single record (ingress.md §13.4: by itself the server retries for ever).
 */
import {
  getSubscriptionStatus,
  pauseOrResumeSubscription,
  type SubscriptionStatusShape,
  skipRecord,
} from "@perdure/admin-contract";
import { SkipRecord } from "@perdure/admin-contract/requests";
import { formatTimestampNanos, type SubscriptionId } from "@perdure/base";
import type { SubscriptionRecord } from "@perdure/metadata";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRoute, route } from "../http/route.js";
import { subscriptionParam } from "../ids.js";
import type { AdminPorts } from "../ports.js";
import type { ViewOf } from "../views/response.js";

type SubscriptionControlPorts = Pick<AdminPorts, "registry" | "subscriptionStatuses">;

export function subscriptionControlRoutes(ports: SubscriptionControlPorts): readonly ApiRoute[] {
  const { registry } = ports;
  const pausing = (verb: "pause" | "resume"): ApiRoute =>
    route(pauseOrResumeSubscription(verb), {
      summary: verb === "pause" ? "Stop consuming a topic; offsets stay" : "Resume consuming a topic",
      answers: { 200: "The subscription's state", 404: "Unknown subscription" },
      handle: async (request) => {
        const record = await registry.pauseSubscription(subscriptionParam(request), verb === "pause");
        return json(200, await statusView(ports, record));
      },
    });
  return [
    route(getSubscriptionStatus, {
      summary: "How far a subscription is, and what it is stuck at",
      answers: { 200: "The subscription's state", 404: "Unknown subscription" },
      handle: async (request) => {
        const id = subscriptionParam(request);
        const record = registry.subscription(id);
        if (record === undefined) throw new RouteError(404, `The requested subscription '${id}' does not exist`);
        return json(200, await statusView(ports, record));
      },
    }),
    pausing("pause"),
    pausing("resume"),
    route(skipRecord, {
      summary: "Leave a record out",
      body: SkipRecord,
      answers: { 200: "The subscription's state", 404: "Unknown subscription" },
      handle: async (request) => {
        const id = subscriptionParam(request);
        const record = await registry.skipRecord(id, await request.json(SkipRecord));
        return json(200, await statusView(ports, record));
      },
    }),
  ];
}

const STATES = { backingOff: "backing-off", noCluster: "no-cluster" } as const;

async function statusView(
  ports: SubscriptionControlPorts,
  { id, paused, skipped }: SubscriptionRecord,
): Promise<ViewOf<typeof SubscriptionStatusShape>> {
  const status = await statusOf(ports, id);
  const state = status?.state ?? "elsewhere";
  return {
    id,
    state: state === "backingOff" || state === "noCluster" ? STATES[state] : state,
    paused,
    skipped,
    assigned_partitions: status?.assigned ?? [],
    positions: status?.positions.map(({ partition, next, lag }) => ({ partition, next_offset: next, lag })) ?? [],
    stuck_at: status?.stuck ?? null,
    last_failure: status?.lastFailure ?? null,
    next_retry_at: status?.nextRetryAtMs === undefined ? null : formatTimestampNanos(status.nextRetryAtMs),
    handled_records: status?.handledCount ?? 0,
  };
}

/** Several workers may read one subscription, each some of its topic's partitions; their reports are merged into one status. */
async function statusOf(
  { subscriptionStatuses }: SubscriptionControlPorts,
  id: SubscriptionId,
): Promise<SubscriptionStatus | undefined> {
  const [first, ...others] = (await subscriptionStatuses()).filter((status) => status.id === id);
  return first === undefined ? undefined : others.reduce(mergeStatuses, first);
}

/** Merges two statuses; the worse state of the two is the result's. */
function mergeStatuses(one: SubscriptionStatus, other: SubscriptionStatus): SubscriptionStatus {
  const worse = STATES_BY_SEVERITY.indexOf(one.state) >= STATES_BY_SEVERITY.indexOf(other.state) ? one : other;
  return {
    ...worse,
    assigned: [...one.assigned, ...other.assigned].sort((a, b) => a - b),
    positions: [...one.positions, ...other.positions].sort((a, b) => a.partition - b.partition),
    stuck: one.stuck ?? other.stuck,
    handledCount: one.handledCount + other.handledCount,
  };
}

const STATES_BY_SEVERITY: readonly SubscriptionStatus["state"][] = ["paused", "consuming", "starting", "backingOff", "noCluster"];
