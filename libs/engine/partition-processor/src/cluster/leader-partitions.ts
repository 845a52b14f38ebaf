/** Implements `Partitions` for the partitions that are led in this process, each by its own processor. */
import { type InvocationId, PerdureError, partitionOf } from "@perdure/base";
import type { Completion, Detach, InvokeObserver, Partitions } from "@perdure/control";
import type { FlowLimits, FlowRows, FlowWait } from "@perdure/flow-control";
import type { InvokerStatus } from "@perdure/invoker";
import type { CommandAnswer, Invocation, Invoke, PartitionCommand } from "@perdure/state-machine";
import { newPopulation, type Population } from "@perdure/storage";
import { LocalPartitions } from "../callers/local-partitions.js";
import type { Processor } from "../processor.js";

interface LeaderEntry {
  readonly processor: Processor;
  readonly partitions: LocalPartitions;
}

const NO_LOCAL_LEADER = "no leader for this partition here";
const NO_FLOW: FlowRows = { queues: [], entries: [], limits: [], buckets: [] };
const NOOP_DETACH: Detach = { detach: () => undefined };

export class LeaderPartitions implements Partitions {
  readonly #count: number;
  readonly #leaders = new Map<number, LeaderEntry>();

  constructor(partitionCount: number) {
    this.#count = partitionCount;
  }

  add(partition: number, processor: Processor): void {
    this.#leaders.set(partition, { processor, partitions: new LocalPartitions(processor) });
  }

  remove(partition: number, processor: Processor): void {
    if (this.#leaders.get(partition)?.processor === processor) this.#leaders.delete(partition);
  }

  leads(id: InvocationId): boolean {
    return this.#of(id)?.processor.leads(id) ?? false;
  }

  epochOf(id: InvocationId): number | undefined {
    return this.#of(id)?.processor.epochOf(id);
  }

  /** Delivers a message like `Processor.deliver`, but returns false also when too many messages of the partition wait. */
  deliver(
    command: PartitionCommand,
    producer: string,
    seq: number,
    delivered: () => void,
    after: number | undefined,
    undelivered: () => void,
  ): boolean {
    const processor = this.#of(command.id)?.processor;
    if (processor === undefined || processor.isOverloaded) return false;
    return processor.deliver(command, producer, seq, delivered, after, undelivered);
  }

  invoke(command: Invoke, wait: boolean, observer: InvokeObserver): Detach {
    const leader = this.#of(command.id);
    if (leader !== undefined) return leader.partitions.invoke(command, wait, observer);
    observer.unavailable(NO_LOCAL_LEADER);
    return NOOP_DETACH;
  }

  attach(
    id: InvocationId,
    observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void },
  ): Detach {
    const leader = this.#of(id);
    if (leader !== undefined) return leader.partitions.attach(id, observer);
    observer.unavailable(NO_LOCAL_LEADER);
    return NOOP_DETACH;
  }

  async output(
    id: InvocationId,
  ): Promise<{ kind: "completed"; completion: Completion } | { kind: "pending" } | { kind: "notFound" }> {
    return this.#required(id).partitions.output(id);
  }

  async describe(id: InvocationId): Promise<Invocation | undefined> {
    return this.#required(id).partitions.describe(id);
  }

  async submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
    return this.#required(command.id).partitions.submit(command);
  }

  // ── other operations ───────────────────────────────────────────────────────────────────────────

  /** Whether all processors are quiet in the sense of `Processor.isQuiet`. */
  get isQuiet(): boolean {
    for (const { processor } of this.#leaders.values()) if (!processor.isQuiet) return false;
    return true;
  }

  /** Returns the earliest `Processor.nextDueAtMs` of all processors. */
  async nextDueAtMs(): Promise<number | undefined> {
    const all = await Promise.all([...this.#leaders.values()].map(({ processor }) => processor.nextDueAtMs()));
    const dueTimes = all.filter((dueAtMs) => dueAtMs !== undefined);
    return dueTimes.length === 0 ? undefined : Math.min(...dueTimes);
  }

  /** Returns the sum of `Processor.population` over all processors. */
  population(): Population {
    const all = newPopulation();
    for (const { processor } of this.#leaders.values()) processor.addPopulation(all);
    return all;
  }

  // ── introspection ──────────────────────────────────────────────────────────────────────────────

  status(id: InvocationId): InvokerStatus | undefined {
    return this.#of(id)?.processor.invoker.status(id);
  }

  *statuses(): Iterable<InvokerStatus> {
    for (const { processor } of this.#leaders.values()) yield* processor.invoker.statuses();
  }

  async flowRows(partition: number): Promise<FlowRows> {
    return (await this.#leaders.get(partition)?.processor.flowRows(partition)) ?? NO_FLOW;
  }

  flowLimits(partition: number): FlowLimits {
    return this.#leaders.get(partition)?.processor.flowLimits(partition) ?? NO_FLOW;
  }

  flowWait(id: InvocationId): FlowWait | undefined {
    return this.#of(id)?.processor.flowWait(id);
  }

  #of(id: InvocationId): LeaderEntry | undefined {
    return this.#leaders.get(partitionOf(id, this.#count));
  }

  #required(id: InvocationId): LeaderEntry {
    const leader = this.#of(id);
    if (leader === undefined) throw new PerdureError("STO0002", NO_LOCAL_LEADER);
    return leader;
  }
}
