/** Delivers outbox messages back into the mailbox where every partition is led by the same processor. */
import type { PartitionCommand } from "@perdure/state-machine";
import type { Processor } from "../processor.js";
import type { OutboxPeers } from "./outbox.js";

export class LoopbackPeers implements OutboxPeers {
  #processor: Processor | undefined;
  /** Messages recovered before the processor accepts deliveries. */
  #early: (() => void)[] = [];

  connect(processor: Processor): void {
    this.#processor = processor;
    const early = this.#early;
    this.#early = [];
    for (const send of early) send();
  }

  send(producer: string, seq: number, command: PartitionCommand, delivered: () => void): void {
    if (this.#processor === undefined) this.#early.push(() => this.send(producer, seq, command, delivered));
    // A refusal means that the partition has stopped for good: the message stays pending and is sent after a restart.
    else this.#processor.deliver(command, producer, seq, delivered);
  }
}
