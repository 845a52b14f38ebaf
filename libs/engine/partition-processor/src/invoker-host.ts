/** Gives attempts access to their partition: their commands go to the mailbox, and their reads happen outside the turn. */
import { type InvocationId, invariant } from "@perdure/base";
import type { InvokerHost } from "@perdure/invoker";
import type { AttemptCommand, JournalEntry } from "@perdure/state-machine";
import { isLeadLost } from "@perdure/storage";
import { LARGE_PAYLOAD_BYTES } from "./limits.js";
import type { PartitionGroup } from "./partition-group.js";

type StateRows = ReadonlyMap<string, Uint8Array>;

export class AttemptHost implements InvokerHost {
  readonly stage: InvokerHost["stage"];
  readonly #group: PartitionGroup;

  constructor(group: PartitionGroup) {
    this.#group = group;
    const { staging } = group.ports.store;
    this.stage = staging === undefined ? undefined : (body) => staging.stage(body);
  }

  submit(command: AttemptCommand): void {
    this.#group.post({ kind: "command", command, receiver: undefined });
  }

  whenDurable(callback: () => void): void {
    this.#group.post({ kind: "barrier", passed: callback });
  }

  async readJournal(id: InvocationId, length: number): Promise<readonly JournalEntry[]> {
    const { ports, leaders } = this.#group;
    const entries = await this.#checked(ports.store.readJournal(leaders.partitionOf(id), id, length));
    invariant(entries.length === length, "the journal of a running invocation is whole");
    let largeBytes = 0;
    for (const { body } of entries) largeBytes += largeBytesOf(body);
    if (largeBytes > 0) ports.largeGarbage?.(largeBytes);
    return entries;
  }

  async readState(id: InvocationId, service: string, key: string): Promise<StateRows> {
    const state = await this.#checked(this.#readState(id, service, key));
    let largeBytes = 0;
    for (const value of state.values()) largeBytes += largeBytesOf(value);
    if (largeBytes > 0) this.#group.ports.largeGarbage?.(largeBytes);
    return state;
  }

  /** A state that was written during the read must not be cached with the value that was read. */
  async #readState(id: InvocationId, service: string, key: string): Promise<StateRows> {
    const { ports, leaders } = this.#group;
    const states = leaders.of(id)?.view.states;
    const current = states?.current(service, key);
    if (current !== undefined) return current;
    const watch = states?.watch(service, key);
    let isCurrent = false;
    let state: StateRows;
    try {
      state = await ports.store.stateOf(leaders.partitionOf(id), service, key);
    } finally {
      isCurrent = watch?.finished() ?? false;
    }
    if (isCurrent) states?.remember(service, key, state);
    return state;
  }

  /** Settles as a read of an attempt does. If the read shows that the partition is led elsewhere, no attempt of it may begin. */
  async #checked<T>(read: Promise<T>): Promise<T> {
    try {
      return await read;
    } catch (cause) {
      if (isLeadLost(cause)) this.#group.fail(cause);
      throw cause;
    }
  }
}

function largeBytesOf({ length }: Uint8Array): number {
  return length >= LARGE_PAYLOAD_BYTES ? length : 0;
}
