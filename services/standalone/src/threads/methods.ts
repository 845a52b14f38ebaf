/** What the threads of a server call in each other beside the services of a cluster. All values are plain data. */
import type { MessagePort } from "node:worker_threads";
import type { InvocationId, PerdureError } from "@perdure/base";
import type { CutAttempt, Interruption } from "@perdure/invoker";
import type { ThreadSetup } from "@perdure/process-kit";
import type { MetricSnapshot } from "@perdure/telemetry";
import type { ThreadPorts } from "./thread-ports.js";

/** A partition that works in a thread. */
export interface ThreadLeadership {
  readonly partition: number;
  readonly epoch: number;
  readonly thread: number;
}

/** What the storage limit of the process allows now. */
export interface StorageState {
  readonly isFull: boolean;
  /** Why no attempts may run; undefined while they may. */
  readonly heldBecause: Interruption | undefined;
}

/** Methods of a further thread, for the main thread. */
export interface ShardMethods {
  /** Resolves when the thread leads its partitions; rejects with the error that prevents it. */
  lead(): Promise<readonly ThreadLeadership[]>;
  /** All threads lead: from now on the other partitions are reached. */
  connect(leaders: readonly ThreadLeadership[]): void;
  /** Opens the ingress at a port that the main thread has bound. Rejects with RT0004. */
  listen(port: number): Promise<void>;
  /** Closes the ingress; resolves when its requests have ended or their time is over. */
  drain(): Promise<void>;
  /** Stops everything; resolves when it is closed. */
  close(): Promise<void>;
  metrics(): readonly MetricSnapshot[];
  setStorage(state: StorageState): Promise<void>;
  /** Undefined when no attempt of it runs in the thread. */
  cutAttempt(id: InvocationId): Promise<CutAttempt | undefined>;
  setLogFilter(filter: string): void;
  /** The record of changed rows of completed invocations, see `CompletedChanges`. */
  completedPosition(): Promise<number | undefined>;
  completedSince(position: number): Promise<readonly string[] | undefined>;
}

/** Methods of the main thread, for the others. */
export interface MainMethods {
  /** The thread cannot continue. */
  fail(code: PerdureError["code"], detail: string): void;
  /** The thread has the state of the registry with this number. */
  registryReached(state: bigint): void;
}

/** What a further thread is started with. */
export interface ShardData extends ThreadPorts {
  readonly setup: ThreadSetup;
  readonly thread: number;
  readonly threads: number;
  readonly partitionCount: number;
  /** Directory of the partitions. */
  readonly directory: string;
  /** Memory of `ActionTotals`. */
  readonly actions: SharedArrayBuffer;
  /** Port of the calls of `ShardMethods` and `MainMethods`. */
  readonly calls: MessagePort;
}
