/**
 * Converts state that only the process has, owned by other packages, to plain rows that may be sent to another thread. Nothing is copied
 * until a statement needs it, and rows are made one by one.
 */
import { type Clock, type InvocationId, redactUrl } from "@perdure/base";
import type { FlowRows } from "@perdure/flow-control";
import type { WorkerTraffic } from "@perdure/storage";
import { mapAhead } from "./ahead.js";
import { FLOW_PARTITIONS_AHEAD, FLOW_ROWS_AHEAD_MAX } from "./limits.js";
import type {
  ClusterPort,
  CompletedChangesPort,
  ConditionsPort,
  DeploymentRow,
  FlowPort,
  HeldInvocation,
  InvokerRows,
  LiveRows,
  OperationsPort,
  RegistryRows,
  SchedulesPort,
  ServiceRow,
  TrafficRow,
} from "./ports.js";

/** Owners of live rows in this process. */
interface LivePorts {
  readonly invoker: InvokerRows;
  readonly registry: RegistryRows;
  readonly flow: FlowPort;
  /** Absent in processes that keep no schedules. */
  readonly schedules?: SchedulesPort;
  /** Absent where no operation can be undone. */
  readonly operations?: OperationsPort | undefined;
  /** Absent in processes that read no conditions. */
  readonly conditions?: ConditionsPort;
  /** Absent: there are no rows of nodes and partitions. */
  readonly cluster?: ClusterPort;
  /** Absent: no changes are recorded. */
  readonly completedChanges?: CompletedChangesPort;
  /** Partitions 0 … count-1, whose flow rows are read. */
  readonly partitionCount: number;
  readonly clock: Clock;
}

/** All methods that may be called. The compiler checks that the list is complete. */
export const LIVE_METHODS: { readonly [method in keyof LiveRows]: true } = {
  held: true,
  deployments: true,
  services: true,
  rules: true,
  eventSubscriptions: true,
  schedules: true,
  operations: true,
  conditions: true,
  nodes: true,
  partitions: true,
  traffic: true,
  queues: true,
  queueEntries: true,
  limits: true,
  buckets: true,
  completedChanges: true,
};

export function liveRowsOf(ports: LivePorts): LiveRows {
  const { invoker, registry, flow, schedules, operations, conditions, cluster, completedChanges, partitionCount, clock } = ports;
  const every = Array.from({ length: partitionCount }, (_, partition) => partition);
  return {
    held: (ids) => (ids === undefined ? invoker.statuses() : heldOf(invoker, ids)),
    ...registryRowsOf(registry),
    schedules: () => schedules?.rows() ?? [],
    operations: () => operations?.rows() ?? [],
    conditions: () => conditions?.rows() ?? [],
    nodes: () => cluster?.nodes() ?? [],
    partitions: () => cluster?.partitions() ?? [],
    traffic: () => cluster?.traffic() ?? [],
    async *queues(partitions) {
      for await (const { queues } of flowRowsAhead(flow, partitions ?? every)) {
        const nowMs = clock.nowMs();
        for (const queue of queues) yield { queue, nowMs };
      }
    },
    async *queueEntries(partitions) {
      for await (const { entries } of flowRowsAhead(flow, partitions ?? every)) yield* entries;
    },
    async *limits(partitions) {
      for (const partition of partitions ?? every) yield* (await flow.flowLimits(partition)).limits;
    },
    async *buckets(partitions) {
      for (const partition of partitions ?? every) yield* (await flow.flowLimits(partition)).buckets;
    },
    completedChanges: (since) => {
      const changes = completedChanges?.since(since) ?? NOT_RECORDED;
      return changes instanceof Promise ? changedKeys(changes) : changes;
    },
  };
}

/** Not all partitions are in memory at once: one after the other is read when the first has many rows, otherwise a few concurrently. */
async function* flowRowsAhead(flow: FlowPort, [first, ...others]: readonly number[]): AsyncIterable<FlowRows> {
  if (first === undefined) return;
  const rowsOfFirst = await flow.flowRows(first);
  yield rowsOfFirst;
  const ahead = isLarge(rowsOfFirst) ? 1 : FLOW_PARTITIONS_AHEAD;
  yield* mapAhead(others, ahead, async (partition) => await flow.flowRows(partition), isLarge);
}

function isLarge({ queues, entries }: FlowRows): boolean {
  return queues.length + entries.length > FLOW_ROWS_AHEAD_MAX;
}

/** The row that says that a worker has reported, and a row for each of its counts. */
export function* trafficRowsOf({ node, sinceMs, counts }: WorkerTraffic): Iterable<TrafficRow> {
  yield { node, sinceMs, count: undefined };
  for (const count of counts) yield { node, sinceMs, count };
}

/** Rows of `LiveRows.completedChanges` where there is no record of the changes. */
export const NOT_RECORDED: readonly null[] = [null];

async function* changedKeys(changes: Promise<readonly string[] | undefined>): AsyncIterable<string | null> {
  yield* (await changes) ?? NOT_RECORDED;
}

/** The live rows that come from the registry. */
export function registryRowsOf(
  registry: RegistryRows,
): Pick<LiveRows, "deployments" | "services" | "rules" | "eventSubscriptions"> {
  return {
    *deployments() {
      for (const deployment of registry.deployments()) {
        const { address } = deployment;
        const row: DeploymentRow = {
          id: deployment.id,
          kind: address.kind,
          endpoint: address.kind === "http" ? address.uri : address.arn,
          createdAtMs: deployment.createdAtMs,
          minProtocolVersion: deployment.minProtocolVersion,
          maxProtocolVersion: deployment.maxProtocolVersion,
          services: deployment.services.map(({ definition }) => definition.name),
        };
        yield row;
      }
    },
    *services() {
      for (const registered of registry.services()) {
        const { definition, revision } = registered.revision;
        const row: ServiceRow = {
          name: definition.name,
          revision,
          kind: definition.kind,
          isPublic: registry.effective(registered).public,
          deploymentId: registered.deployment.id,
          handlers: definition.handlers.map(({ name, kind }) => ({ name, kind })),
        };
        yield row;
      }
    },
    rules: () => registry.rules(),
    *eventSubscriptions() {
      for (const { id, types, filter, target, webhook, description, createdAtMs } of registry.eventSubscriptions())
        yield { id, types, filter, target, url: webhook && redactUrl(webhook.url), description, createdAtMs };
    },
  };
}

function* heldOf(invoker: InvokerRows, ids: readonly InvocationId[]): Iterable<HeldInvocation> {
  for (const id of ids) {
    const held = invoker.status(id);
    if (held !== undefined) yield held;
  }
}
