/** Rules about messages between partitions: numbers are used once, deliveries are accepted once and in order. */
import type { PartitionCommand } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { UndeliveredMessage } from "./kill-model.js";

export class OutboxModel {
  readonly #findings: SimulationFindings;
  /** Messages that are not acknowledged, by producer and number. */
  readonly undelivered = new Map<string, UndeliveredMessage>();
  /** Sequence numbers are never used again. */
  readonly #usedSequences = new Set<string>();
  readonly #dedup = new Map<string, number>();

  constructor(findings: SimulationFindings) {
    this.#findings = findings;
  }

  /** A leader gives a message to the network: it must be durable by then. */
  sent(producer: string, seq: number, command: PartitionCommand): void {
    this.#findings.require(
      this.#usedSequences.has(`${producer}/${seq}`),
      "a message travels only when it is durable",
      () => `${producer}/${seq} ${command.kind}`,
    );
  }

  put(partition: number, seq: number, command: PartitionCommand, atCommit: number): void {
    const name = `p${partition}/${seq}`;
    this.#findings.require(!this.#usedSequences.has(name), "a sequence number is used once", () => name);
    this.#usedSequences.add(name);
    this.undelivered.set(name, { command, atCommit });
  }

  /** Returns the message, unless it was acknowledged before. */
  acknowledged(partition: number, seq: number): UndeliveredMessage | undefined {
    const name = `p${partition}/${seq}`;
    const message = this.undelivered.get(name);
    this.undelivered.delete(name);
    return message;
  }

  /** Returns the command, unless it is acknowledged already. */
  received(partition: number, producer: string, seq: number): PartitionCommand | undefined {
    const name = `${partition}<${producer}`;
    const before = this.#dedup.get(name) ?? -1;
    this.#findings.require(seq > before, "a delivery is accepted once, in order", () => `${name}: ${seq} after ${before}`);
    this.#dedup.set(name, seq);
    return this.undelivered.get(`${producer}/${seq}`)?.command;
  }
}
