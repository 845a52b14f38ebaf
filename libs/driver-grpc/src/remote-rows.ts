/**
 * What workers in other processes know and nobody else: asked of all of them, or of the one that leads. A worker that cannot be
 * reached has nothing to show, as one that is gone; only counting insists on hearing of every partition.
 */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import {
  backoffMs,
  type Clock,
  type DeploymentId,
  type InvocationId,
  type Logger,
  PerdureError,
  partitionOf,
  type Random,
} from "@perdure/base";
import type { FlowBucketRow, FlowEntryRow, FlowLimitRow, FlowQueueRow, FlowWait } from "@perdure/flow";
import type { InvokerStatus } from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";
import type { NodeRow, PartitionRow } from "@perdure/store";
import type { SubscriptionStatus } from "@perdure/subscription";
import { fromJson, toJson } from "./codec/json.js";
import { partitionsDefinition } from "./definitions.js";
import { RowsRequestSchema } from "./gen/v1/partitions_pb.js";
import type { LeaderDirectory } from "./leadership.js";
import { COUNT_AGAIN_BOUNDS, COUNT_TRIES_MAX, ROWS_DEADLINE_MS } from "./limits.js";
import { readPages } from "./pages.js";
import type { LeadershipStatus, WorkerStatus, WorkerTable } from "./worker-rows.js";

export interface RemoteRowsPorts {
  readonly directory: LeaderDirectory;
  /** The channel to a worker; it stays the caller's. */
  readonly channel: (address: string) => Client;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

type Partitions = readonly number[] | undefined;

/** One worker's answer, page by page. */
interface Answered {
  /** Set on the first. */
  readonly led: readonly number[];
  readonly rows: readonly unknown[];
}

/** A worker on the list; `status` is undefined when it does not answer. */
interface ListedWorker {
  readonly address: string;
  readonly status: WorkerStatus | undefined;
}

export class RemoteRows {
  readonly #ports: RemoteRowsPorts;

  constructor(ports: RemoteRowsPorts) {
    this.#ports = ports;
  }

  /** What invokers hold in memory, or those of it with these ids. */
  statuses(ids: readonly InvocationId[] | undefined): AsyncIterable<InvokerStatus> {
    return this.#ofAll("statuses", [ids]);
  }

  async status(id: InvocationId): Promise<InvokerStatus | undefined> {
    return (await this.#ofLeader<InvokerStatus>(id, "statuses"))[0];
  }

  /** What flow control says of an invocation that waits for a slot; undefined when it does not wait for one. */
  async flowWait(id: InvocationId): Promise<FlowWait | undefined> {
    return (await this.#ofLeader<FlowWait>(id, "flowWaits"))[0];
  }

  /** Of these partitions, of all when undefined; so the next three. */
  queues(partitions: Partitions): AsyncIterable<FlowQueueRow> {
    return this.#ofAll("queues", [partitions]);
  }
  queueEntries(partitions: Partitions): AsyncIterable<FlowEntryRow> {
    return this.#ofAll("queueEntries", [partitions]);
  }
  limits(partitions: Partitions): AsyncIterable<FlowLimitRow> {
    return this.#ofAll("limits", [partitions]);
  }
  buckets(partitions: Partitions): AsyncIterable<FlowBucketRow> {
    return this.#ofAll("buckets", [partitions]);
  }

  /** All workers on the list. */
  async *nodes(): AsyncIterable<NodeRow> {
    for (const { address, status } of await this.#workers()) {
      yield {
        id: status?.id,
        address,
        version: status?.version,
        status: status === undefined ? "unreachable" : status.isDraining ? "draining" : "alive",
        startedAtMs: status?.startedAtMs,
        leadingCount: status?.leading.length,
      };
    }
  }

  /** All partitions. A worker's own report wins over the published claims; of two reports the one with the higher epoch wins. */
  async *partitions(): AsyncIterable<PartitionRow> {
    const { directory } = this.#ports;
    const workers = await this.#workers();
    const confirmed = new Map<number, LeadershipStatus & { readonly leader: string | undefined; readonly address: string }>();
    for (const { address, status } of workers) {
      for (const led of status?.leading ?? []) {
        if ((confirmed.get(led.partition)?.epoch ?? -1) < led.epoch)
          confirmed.set(led.partition, { ...led, leader: status?.id, address });
      }
    }
    for (let partition = 0; partition < directory.partitionCount; partition++) {
      const led = confirmed.get(partition);
      const claim = directory.leaderOf(partition);
      const claimant = led === undefined ? workers.find(({ address }) => address === claim?.address) : undefined;
      yield {
        partition,
        status: led !== undefined ? "leading" : claimant === undefined ? "no_leader" : "unknown",
        leader: led?.leader ?? claimant?.status?.id,
        leaderAddress: led?.address ?? claimant?.address,
        epoch: led?.epoch ?? claim?.epoch,
        leaderSinceMs: led?.sinceMs,
        leaseExpiresAtMs: led?.leaseExpiresAtMs,
      };
    }
  }

  /** In the order of the list; requested side by side, since one that is frozen keeps silent for seconds. */
  async #workers(): Promise<readonly ListedWorker[]> {
    return await Promise.all(
      this.#ports.directory.workers.map(async (address) => ({ address, status: await this.#workerAt(address) })),
    );
  }

  async #workerAt(address: string): Promise<WorkerStatus | undefined> {
    for await (const { rows } of this.#tolerant(address, "worker", [])) if (rows.length > 0) return rows[0] as WorkerStatus;
    return undefined;
  }

  /** How far each worker is with the subscriptions that it reads. */
  async subscriptionStatuses(): Promise<readonly SubscriptionStatus[]> {
    const statuses: SubscriptionStatus[] = [];
    for await (const status of this.#ofAll<SubscriptionStatus>("subscriptions", [])) statuses.push(status);
    return statuses;
  }

  /** Rejects with OPS0004 when some partition has no leader that answers, even after a while: then nobody can know. */
  async countUsage(id: DeploymentId, services: readonly string[]): Promise<DeploymentUsage> {
    const { clock, random } = this.#ports;
    for (let tries = 1; ; tries++) {
      const counted = await this.#countOnce(id, services);
      if (counted !== undefined) return counted;
      if (tries >= COUNT_TRIES_MAX)
        throw new PerdureError("OPS0004", "the invocations cannot be counted while some partitions have no worker");
      await new Promise<void>((resolve) => void clock.setTimer(backoffMs(0, COUNT_AGAIN_BOUNDS, random), resolve));
    }
  }

  /** Undefined when a partition was not counted, or twice: it moved meanwhile. */
  async #countOnce(id: DeploymentId, services: readonly string[]): Promise<DeploymentUsage | undefined> {
    const { directory } = this.#ports;
    const counts = new Map<string, number>();
    const heardOf = new Set<number>();
    let led = 0;
    let pinned = 0;
    for (const address of directory.workers) {
      for await (const page of this.#tolerant(address, "usage", [id, services])) {
        led += page.led.length;
        for (const partition of page.led) heardOf.add(partition);
        for (const usage of page.rows as readonly DeploymentUsage[]) {
          pinned += usage.pinned;
          for (const [service, count] of usage.unfinishedByService) counts.set(service, (counts.get(service) ?? 0) + count);
        }
      }
    }
    const isWhole = directory.partitionCount > 0 && led === directory.partitionCount && heardOf.size === led;
    return isWhole ? { pinned, unfinishedByService: counts } : undefined;
  }

  async #ofLeader<Row>(id: InvocationId, table: WorkerTable): Promise<readonly Row[]> {
    const { directory } = this.#ports;
    const leader = directory.partitionCount === 0 ? undefined : directory.leaderOf(partitionOf(id, directory.partitionCount));
    const found: Row[] = [];
    if (leader === undefined) return found;
    for await (const { rows } of this.#tolerant(leader.address, table, [[id]])) found.push(...(rows as readonly Row[]));
    return found;
  }

  async *#ofAll<Row>(table: WorkerTable, values: readonly unknown[]): AsyncIterable<Row> {
    for (const address of this.#ports.directory.workers) {
      for await (const { rows } of this.#tolerant(address, table, values)) yield* rows as readonly Row[];
    }
  }

  /** A worker that cannot be reached ends its rows early. */
  async *#tolerant(address: string, table: WorkerTable, values: readonly unknown[]): AsyncIterable<Answered> {
    const { channel, logger } = this.#ports;
    const request = create(RowsRequestSchema, { table, arguments: toJson(values.map((value) => value ?? null)) });
    const options = { deadlineMs: ROWS_DEADLINE_MS, whom: `the worker at ${address}` };
    try {
      for await (const page of readPages(channel(address), partitionsDefinition.rows, request, options)) {
        yield { led: page.led, rows: page.rows.length === 0 ? [] : (fromJson(page.rows) as readonly unknown[]) };
      }
    } catch (cause) {
      if (!(cause instanceof PerdureError) || cause.code !== "OPS0004") throw cause;
      logger.warn({ worker: address, table, reason: cause.detail }, "a worker reported nothing about itself");
    }
  }
}
