/** Implements `Partitions` for the partitions that are led in this process. */
import { type InvocationId, PerdureError } from "@perdure/base";
import type { Completion, Detach, InvokeObserver, Partitions } from "@perdure/control";
import {
  type CommandAnswer,
  expiresAtMs,
  type Invocation,
  type Invoke,
  type Outcome,
  type PartitionCommand,
} from "@perdure/state-machine";
import type { Processor } from "../processor.js";
import type { OutcomeWaiter } from "./waiters.js";

const NO_LOCAL_LEADER = "no leader for this partition here";
const OVERLOADED = "too much work is waiting";

export class LocalPartitions implements Partitions {
  readonly #processor: Processor;

  constructor(processor: Processor) {
    this.#processor = processor;
  }

  invoke(command: Invoke, wait: boolean, observer: InvokeObserver): Detach {
    const waiting = new WaitingCaller(this.#processor, command.id, observer);
    if (this.#processor.isOverloaded) {
      waiting.unavailable(OVERLOADED);
      return waiting;
    }
    const { waiters } = this.#processor;
    waiters.expectReply(command.id, waiting);
    const isAccepted = this.#processor.submit(command, (answer) => {
      waiters.answered(waiting);
      waiting.answered(answer, wait);
    });
    if (!isAccepted) {
      waiters.answered(waiting);
      waiting.unavailable(NO_LOCAL_LEADER);
    }
    return waiting;
  }

  attach(
    id: InvocationId,
    observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void },
  ): Detach {
    const waiting = new WaitingCaller(this.#processor, id, { submitted: () => undefined, ...bind(observer) });
    const { waiters } = this.#processor;
    waiters.expectReply(id, waiting);
    const isAccepted = this.#processor.inspect(id, (invocation) => {
      waiters.answered(waiting);
      if (waiting.isDetached) return;
      if (invocation === undefined) observer.notFound();
      else waiting.waitFor(invocation);
    });
    if (!isAccepted) {
      waiters.answered(waiting);
      waiting.unavailable(NO_LOCAL_LEADER);
    }
    return waiting;
  }

  async output(
    id: InvocationId,
  ): Promise<{ kind: "completed"; completion: Completion } | { kind: "pending" } | { kind: "notFound" }> {
    const invocation = await this.describe(id);
    if (invocation === undefined) return { kind: "notFound" };
    if (invocation.status !== "completed") return { kind: "pending" };
    return { kind: "completed", completion: { outcome: invocation.outcome, expiresAtMs: expiresAtMs(invocation) } };
  }

  describe(id: InvocationId): Promise<Invocation | undefined> {
    return this.#request(id, (answer) => this.#processor.inspect(id, answer));
  }

  submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer> {
    return this.#request(command.id, (answer) => this.#processor.submit(command, answer));
  }

  /** Resolves with the reply, or rejects with STO0002 when this process cannot give one any more. */
  #request<T>(id: InvocationId, request: (answer: (value: T) => void) => boolean): Promise<T> {
    const { waiters } = this.#processor;
    return new Promise((resolve, reject) => {
      const pendingReply = { unavailable: (reason: string) => reject(new PerdureError("STO0002", reason)) };
      waiters.expectReply(id, pendingReply);
      const isAccepted = request((value) => {
        waiters.answered(pendingReply);
        resolve(value);
      });
      if (isAccepted) return;
      waiters.answered(pendingReply);
      pendingReply.unavailable(NO_LOCAL_LEADER);
    });
  }
}

function bind(observer: { completed(completion: Completion): void; unavailable(reason: string): void }) {
  return {
    completed: (completion: Completion) => observer.completed(completion),
    unavailable: (reason: string) => observer.unavailable(reason),
  };
}

/** A caller that waits for the outcome of its invocation. */
class WaitingCaller implements OutcomeWaiter, Detach {
  readonly #processor: Processor;
  readonly #id: InvocationId;
  #observer: InvokeObserver | undefined;

  constructor(processor: Processor, id: InvocationId, observer: InvokeObserver) {
    this.#processor = processor;
    this.#id = id;
    this.#observer = observer;
  }

  get isDetached(): boolean {
    return this.#observer === undefined;
  }

  answered(answer: CommandAnswer, wait: boolean): void {
    const observer = this.#observer;
    if (observer === undefined) return;
    switch (answer.kind) {
      case "accepted":
        if (wait) this.#processor.waiters.add(this.#id, this);
        return observer.submitted(undefined);
      case "previouslyAccepted":
        observer.submitted(answer.invocation);
        if (wait && !this.isDetached) this.waitFor(answer.invocation);
        return;
      default:
        return this.unavailable(`unexpected answer ${answer.kind}`);
    }
  }

  /** Publishes a stored result at once, and a later one when it arrives. */
  waitFor(invocation: Invocation): void {
    if (invocation.status === "completed") {
      const observer = this.#observer;
      this.#observer = undefined;
      observer?.completed({ outcome: invocation.outcome, expiresAtMs: expiresAtMs(invocation) });
    } else {
      this.#processor.waiters.add(this.#id, this);
    }
  }

  completed(outcome: Outcome): void {
    const observer = this.#observer;
    this.#observer = undefined;
    observer?.completed({ outcome, expiresAtMs: undefined });
  }

  unavailable(reason: string): void {
    const observer = this.#observer;
    this.#observer = undefined;
    observer?.unavailable(reason);
  }

  detach(): void {
    if (this.#observer === undefined) return;
    this.#observer = undefined;
    this.#processor.waiters.answered(this);
    this.#processor.waiters.remove(this.#id, this);
  }
}
