/** Implements `Partitions` for the partitions that are led in this process. */
import type { InvocationId } from "@perdure/base";
import type { Completion, Detach, InvokeObserver, Partitions } from "@perdure/control";
import { type CommandAnswer, expiresAtMs, type Invocation, type Invoke, type PartitionCommand } from "@perdure/state-machine";
import type { Processor } from "../processor.js";
import { AttachedCaller, type AttachObserver } from "./attached-caller.js";
import { InvokingCaller } from "./invoking-caller.js";
import { PendingRequest } from "./pending-request.js";

const NO_LOCAL_LEADER = "no leader for this partition here";
const OVERLOADED = "too much work is waiting";

export class LocalPartitions implements Partitions {
  readonly #processor: Processor;

  constructor(processor: Processor) {
    this.#processor = processor;
  }

  invoke(command: Invoke, wait: boolean, observer: InvokeObserver): Detach {
    const { waiters } = this.#processor;
    const caller = new InvokingCaller(waiters, command.id, wait, observer);
    if (this.#processor.isOverloaded) {
      caller.unavailable(OVERLOADED);
      return caller;
    }
    waiters.expectReply(command.id, caller);
    if (!this.#processor.submit(command, caller)) waiters.refuse(caller, NO_LOCAL_LEADER);
    return caller;
  }

  attach(id: InvocationId, observer: AttachObserver): Detach {
    const { waiters } = this.#processor;
    const caller = new AttachedCaller(waiters, id, observer);
    waiters.expectReply(id, caller);
    if (!this.#processor.inspect(id, caller)) waiters.refuse(caller, NO_LOCAL_LEADER);
    return caller;
  }

  async output(
    id: InvocationId,
  ): Promise<{ kind: "completed"; completion: Completion } | { kind: "pending" } | { kind: "notFound" }> {
    const invocation = await this.describe(id);
    if (invocation === undefined) return { kind: "notFound" };
    if (invocation.status !== "completed") return { kind: "pending" };
    return { kind: "completed", completion: { outcome: invocation.outcome, expiresAtMs: expiresAtMs(invocation) } };
  }

  /** Rejects with STO0002 when this process cannot answer any more, as `submit` does. */
  describe(id: InvocationId): Promise<Invocation | undefined> {
    const { waiters } = this.#processor;
    const request = new PendingRequest<Invocation | undefined>(waiters);
    waiters.expectReply(id, request);
    if (!this.#processor.inspect(id, request)) waiters.refuse(request, NO_LOCAL_LEADER);
    return request.promise;
  }

  submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
    const { waiters } = this.#processor;
    const request = new PendingRequest<CommandAnswer>(waiters);
    waiters.expectReply(command.id, request);
    if (!this.#processor.submit(command, request)) waiters.refuse(request, NO_LOCAL_LEADER);
    return request.promise;
  }
}
