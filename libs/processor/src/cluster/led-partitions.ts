/** The `Partitions` of those partitions that are led in this process, each by a processor of its own. */
import { type InvocationId, PerdureError, partitionOf } from "@perdure/base";
import type { Completion, Detach, InvokeObserver, Partitions } from "@perdure/control";
import type { FlowLimits, FlowRows, FlowWait } from "@perdure/flow";
import type { Invoker, InvokerStatus } from "@perdure/invoker";
import type { Answer, Invocation, Invoke, PartitionCommand } from "@perdure/partition";
import { newPopulation, type Population } from "@perdure/store";
import { LocalPartitions } from "../local-partitions.js";
import type { Processor } from "../processor.js";

export interface LedPartition {
  readonly processor: Processor;
  readonly invoker: Invoker;
}

interface Entry extends LedPartition {
  readonly partitions: LocalPartitions;
}

const NOT_LED = "no leader for this partition here";
const NO_FLOW: FlowRows = { queues: [], entries: [], limits: [], buckets: [] };
const NOBODY: Detach = { detach: () => undefined };

export class LedPartitions implements Partitions {
  readonly #count: number;
  readonly #led = new Map<number, Entry>();

  constructor(partitionCount: number) {
    this.#count = partitionCount;
  }

  add(partition: number, led: LedPartition): void {
    this.#led.set(partition, { ...led, partitions: new LocalPartitions(led.processor) });
  }

  remove(partition: number, processor: Processor): void {
    if (this.#led.get(partition)?.processor === processor) this.#led.delete(partition);
  }

  leads(id: InvocationId): boolean {
    return this.#of(id)?.processor.leads(id) ?? false;
  }

  epochOf(id: InvocationId): number | undefined {
    return this.#of(id)?.processor.epochOf(id);
  }

  /** As `Processor.deliver`; false also when the partition has too much waiting. */
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
    const led = this.#of(command.id);
    if (led !== undefined) return led.partitions.invoke(command, wait, observer);
    observer.unavailable(NOT_LED);
    return NOBODY;
  }

  attach(
    id: InvocationId,
    observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void },
  ): Detach {
    const led = this.#of(id);
    if (led !== undefined) return led.partitions.attach(id, observer);
    observer.unavailable(NOT_LED);
    return NOBODY;
  }

  async output(
    id: InvocationId,
  ): Promise<{ kind: "completed"; completion: Completion } | { kind: "pending" } | { kind: "notFound" }> {
    return this.#required(id).partitions.output(id);
  }

  async describe(id: InvocationId): Promise<Invocation | undefined> {
    return this.#required(id).partitions.describe(id);
  }

  async submit(command: Exclude<PartitionCommand, Invoke>): Promise<Answer> {
    return this.#required(command.id).partitions.submit(command);
  }

  // ── rest ───────────────────────────────────────────────────────────────────────────────────────

  /** As `Processor.isQuiet`, of all. */
  get isQuiet(): boolean {
    for (const { processor } of this.#led.values()) if (!processor.isQuiet) return false;
    return true;
  }

  /** As `Processor.nextDueAtMs`, of all. */
  async nextDueAtMs(): Promise<number | undefined> {
    const all = await Promise.all([...this.#led.values()].map(({ processor }) => processor.nextDueAtMs()));
    const known = all.filter((dueAtMs) => dueAtMs !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** As `Processor.population`, of all together. */
  population(): Population {
    const all = newPopulation();
    for (const { processor } of this.#led.values()) processor.addPopulation(all);
    return all;
  }

  // ── introspection ──────────────────────────────────────────────────────────────────────────────

  status(id: InvocationId): InvokerStatus | undefined {
    return this.#of(id)?.invoker.status(id);
  }

  *statuses(): Iterable<InvokerStatus> {
    for (const { invoker } of this.#led.values()) yield* invoker.statuses();
  }

  async flowRows(partition: number): Promise<FlowRows> {
    return (await this.#led.get(partition)?.processor.flowRows(partition)) ?? NO_FLOW;
  }

  flowLimits(partition: number): FlowLimits {
    return this.#led.get(partition)?.processor.flowLimits(partition) ?? NO_FLOW;
  }

  flowWait(id: InvocationId): FlowWait | undefined {
    return this.#of(id)?.processor.flowWait(id);
  }

  #of(id: InvocationId): Entry | undefined {
    return this.#led.get(partitionOf(id, this.#count));
  }

  #required(id: InvocationId): Entry {
    const led = this.#of(id);
    if (led === undefined) throw new PerdureError("STO0002", NOT_LED);
    return led;
  }
}
