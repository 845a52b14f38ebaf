/** Implements `Partitions` where some partitions are led here and the others elsewhere, and none moves while the process runs. */
import type { InvocationId, PartitionSubset } from "@perdure/base";
import type { Completion, Detach, InvokeObserver, Partitions } from "@perdure/control";
import type { CommandAnswer, Invocation, Invoke, PartitionCommand } from "@perdure/state-machine";
import type { AttachObserver } from "./attached-caller.js";

export class RoutedPartitions implements Partitions {
  readonly #own: PartitionSubset;
  readonly #local: Partitions;
  readonly #remote: Partitions;

  /** `own` are the partitions of `local`. */
  constructor(own: PartitionSubset, local: Partitions, remote: Partitions) {
    this.#own = own;
    this.#local = local;
    this.#remote = remote;
  }

  invoke(command: Invoke, wait: boolean, observer: InvokeObserver): Detach {
    return this.#of(command.id).invoke(command, wait, observer);
  }

  attach(id: InvocationId, observer: AttachObserver): Detach {
    return this.#of(id).attach(id, observer);
  }

  output(id: InvocationId): Promise<{ kind: "completed"; completion: Completion } | { kind: "pending" } | { kind: "notFound" }> {
    return this.#of(id).output(id);
  }

  describe(id: InvocationId): Promise<Invocation | undefined> {
    return this.#of(id).describe(id);
  }

  submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
    return this.#of(command.id).submit(command);
  }

  /** By ownership, not by what is led at present: a partition of this process that has stopped is led nowhere else. */
  #of(id: InvocationId): Partitions {
    return this.#own.hasId(id) ? this.#local : this.#remote;
  }
}
