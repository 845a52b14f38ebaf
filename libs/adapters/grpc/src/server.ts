/**
 * The server of a worker: receives batches of requests, passes them to the partitions that it leads, and answers in batches. When a stream
 * ends, its waiting callers are dropped, but their invocations continue.
 */
import { create } from "@bufbuild/protobuf";
import type { ServerDuplexStream, ServerWritableStream, UntypedServiceImplementation } from "@grpc/grpc-js";
import { EMPTY_BYTES, type InvocationId, type Logger, PerdureError, unreachable } from "@perdure/base";
import type { Completion, Detach, InvokeObserver, Partitions } from "@perdure/control";
import type { Invocation, Invoke, Throttled, ThrottleKeysFull } from "@perdure/state-machine";
import type { OutboxCommand } from "@perdure/storage";
import { Batching, type Soon } from "./batching.js";
import { encodeAnswer, encodeFailure, encodeOptionalInvocation, encodeSuccess } from "./codec/answers.js";
import { CAPABILITIES_V01, type Capabilities, decodeHello, HELLO } from "./codec/capabilities.js";
import { decodeInvoke, decodeManagementCommand, decodeStoredCommand, type RemoteCommand } from "./codec/commands.js";
import type { CompletedResponse, ExchangeRequest, ExchangeResponse, ExchangeResponseBody } from "./codec/exchange.js";
import { checkedInvocationId } from "./codec/schedules.js";
import { throttledBodyOf } from "./codec/throttle-bodies.js";
import { type Directory, DirectorySchema, LeaderSchema, type WatchRequest } from "./gen/v1/partitions_pb.js";
import type { LeaderDirectory } from "./leadership.js";
import type { LiveWorker } from "./live-worker.js";
import { encodeError } from "./status.js";
import { decodeCommandV01, encodeAnswerV01, encodeFailureV01 } from "./v01/exchange.js";
import { workerHandlers } from "./worker-rows.js";

/** The methods of a worker that other processes may call. */
export interface ServedPartitions {
  readonly partitions: Partitions;
  /** Whether this worker leads the partition of this id now. */
  leads(id: InvocationId): boolean;
  /** The epoch of this worker's leadership; undefined when it does not lead the partition. */
  epochOf(id: InvocationId): number | undefined;
  /** Delivers an outbox message of another partition; false when this worker does not lead the receiving partition. */
  deliver(
    command: OutboxCommand,
    producer: string,
    seq: number,
    delivered: () => void,
    after: number | undefined,
    undelivered: () => void,
  ): boolean;
  readonly directory: LeaderDirectory;
  /** State that only this worker holds; without it the worker serves no rows. */
  readonly live?: LiveWorker;
  /** Determines when gathered answers are sent; by default at the end of the turn of the event loop. */
  readonly soon?: Soon;
  readonly logger: Logger;
}

export function partitionsHandlers(served: ServedPartitions): UntypedServiceImplementation {
  return {
    exchange: (call: ServerDuplexStream<readonly ExchangeRequest[], readonly ExchangeResponse[]>) =>
      new PartitionExchange(served, call),
    watch: (call: ServerWritableStream<WatchRequest, Directory>) => watch(served.directory, call),
    ...(served.live === undefined ? {} : workerHandlers(served.live, served.logger)),
  };
}

class PartitionExchange {
  readonly #served: ServedPartitions;
  readonly #out: Batching<ExchangeResponse, readonly ExchangeResponse[]>;
  /** Callers that wait for an outcome, by the number of their request. */
  readonly #waiting = new Map<number, Detach>();
  /** What the client announced in its first request. */
  #capabilities: Capabilities = CAPABILITIES_V01;
  #isOpen = true;

  constructor(served: ServedPartitions, call: ServerDuplexStream<readonly ExchangeRequest[], readonly ExchangeResponse[]>) {
    this.#served = served;
    this.#out = new Batching({ write: (batch) => call.write(batch) }, (answers) => answers, bytesOfAnswer, served.soon);
    call.on("drain", () => {
      this.#out.drained();
      if (!this.#out.isFull) call.resume();
    });
    call.on("data", (requests: readonly ExchangeRequest[]) => {
      for (const request of requests) this.#take(request);
      if (this.#out.isFull) call.pause(); // A client that does not read its answers must not cause more of them.
    });
    call.on("end", () => {
      this.#close();
      call.end();
    });
    call.on("cancelled", () => this.#close());
    call.on("error", () => this.#close()); // The client gets the error as well and connects again.
  }

  #take(request: ExchangeRequest): void {
    try {
      this.#request(request);
    } catch (cause) {
      this.#served.logger.error(
        { error: cause instanceof Error ? cause.stack : String(cause) },
        "a request could not be handled",
      );
      this.#reply(request.number, this.#failure(cause, "the request could not be handled"));
    }
  }

  #request({ number, body: request }: ExchangeRequest): void {
    if (request === undefined)
      return this.#reply(number, { case: "unavailable", value: "a request of a kind that this version does not support" });
    const { partitions } = this.#served;
    switch (request.case) {
      case "invoke": {
        const { resubmission, epoch, wait, throttle } = request.value;
        const decoded = decodeInvoke(request.value.command);
        const command = throttle === undefined ? decoded : { ...decoded, throttle };
        if (this.#sentAway(number, command.id)) return;
        const isFirst = !resubmission && epoch !== undefined && epoch === this.#served.epochOf(command.id);
        return this.#invoke(number, isFirst ? command : { ...command, resubmission: true }, wait);
      }
      case "attach": {
        const id = checkedInvocationId(request.value);
        if (this.#sentAway(number, id)) return;
        this.#waiting.set(number, partitions.attach(id, new ReplyingObserver(this.#answering, number, id)));
        return;
      }
      case "hello":
        this.#capabilities = decodeHello(request.value);
        return this.#reply(number, { case: "hello", value: HELLO });
      case "submit":
        return this.#submit(number, decodeCommandV01(request.value));
      case "command":
        return this.#submit(number, decodeManagementCommand(request.value));
      case "describe": {
        const id = checkedInvocationId(request.value);
        if (this.#sentAway(number, id)) return;
        partitions.describe(id).then(
          (invocation) => this.#reply(number, { case: "invocation", value: encodeOptionalInvocation(invocation) }),
          (cause: unknown) => this.#reply(number, this.#unavailable(id, cause)),
        );
        return;
      }
      case "deliver": {
        const { producer, seq, command, after } = request.value;
        const message = decodeStoredCommand(command);
        const delivered = () => this.#reply(number, { case: "delivered" });
        const undelivered = () => this.#reply(number, { case: "notLeader" });
        if (!this.#served.deliver(message, producer, seq, delivered, after, undelivered)) undelivered();
        return;
      }
      case "forget":
        this.#waiting.get(request.value)?.detach();
        this.#waiting.delete(request.value);
        return;
      default:
        return unreachable(request);
    }
  }

  #submit(number: number, command: RemoteCommand): void {
    if (this.#sentAway(number, command.id)) return;
    if (command.kind === "invoke") return this.#invoke(number, command, false);
    this.#served.partitions.submit(command).then(
      (answer) =>
        this.#reply(
          number,
          this.#capabilities.readsTypedCommands
            ? { case: "commandAnswer", value: encodeAnswer(answer) }
            : { case: "answer", value: encodeAnswerV01(answer) },
        ),
      (cause: unknown) => this.#reply(number, this.#unavailable(command.id, cause)),
    );
  }

  #invoke(number: number, command: Invoke, wait: boolean): void {
    const detach = this.#served.partitions.invoke(command, wait, new ReplyingObserver(this.#answering, number, command.id));
    if (wait) this.#waiting.set(number, detach);
  }

  /** A partition that moved meanwhile is not a reason to fail its callers: they follow it. */
  #unavailable(id: InvocationId, cause: unknown): ExchangeResponseBody {
    return this.#served.leads(id) ? this.#failure(cause, reasonOf(cause)) : { case: "notLeader" };
  }

  /** `reasonV01` is all that a client of v0.1 gets. */
  #failure(cause: unknown, reasonV01: string): ExchangeResponseBody {
    if (!this.#capabilities.readsTypedCommands) return { case: "unavailable", value: reasonV01 };
    return { case: "error", value: encodeError(PerdureError.from(cause)) };
  }

  #sentAway(number: number, id: InvocationId): boolean {
    if (this.#served.leads(id)) return false;
    this.#reply(number, { case: "notLeader" });
    return true;
  }

  readonly #answering: Answering = {
    reply: (number, reply) => this.#reply(number, reply),
    completed: (number, completion) =>
      this.#last(number, { case: "completed", value: completedOf(completion, this.#capabilities) }),
    notFound: (number) => this.#last(number, { case: "notFound" }),
    throttled: (number, refusal) => this.#last(number, { case: "throttled", value: throttledBodyOf(refusal) }),
    unavailable: (number, id, reason) => this.#last(number, this.#unavailable(id, new PerdureError("STO0002", reason))),
  };

  #last(number: number, reply: ExchangeResponseBody): void {
    this.#waiting.delete(number);
    this.#reply(number, reply);
  }

  #reply(number: number, reply: ExchangeResponseBody): void {
    if (this.#isOpen) this.#out.add({ number, body: reply });
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#out.close();
    for (const detach of this.#waiting.values()) detach.detach();
    this.#waiting.clear();
  }
}

interface Answering {
  reply(number: number, reply: ExchangeResponseBody): void;
  completed(number: number, completion: Completion): void;
  notFound(number: number): void;
  throttled(number: number, refusal: Throttled | ThrottleKeysFull): void;
  unavailable(number: number, id: InvocationId, reason: string): void;
}

/** The caller of a request. A class, because three closures for each request would cost more than the work that they do. */
class ReplyingObserver implements InvokeObserver {
  readonly #answering: Answering;
  readonly #number: number;
  readonly #id: InvocationId;

  constructor(answering: Answering, number: number, id: InvocationId) {
    this.#answering = answering;
    this.#number = number;
    this.#id = id;
  }

  submitted(previous: Invocation | undefined): void {
    this.#answering.reply(
      this.#number,
      previous === undefined ? SUBMITTED : { case: "submitted", value: encodeOptionalInvocation(previous) },
    );
  }

  completed(completion: Completion): void {
    this.#answering.completed(this.#number, completion);
  }

  throttled(refusal: Throttled | ThrottleKeysFull): void {
    this.#answering.throttled(this.#number, refusal);
  }

  notFound(): void {
    this.#answering.notFound(this.#number);
  }

  unavailable(reason: string): void {
    this.#answering.unavailable(this.#number, this.#id, reason);
  }
}

function completedOf({ outcome, expiresAtMs }: Completion, { readsTypedCommands }: Capabilities): CompletedResponse {
  if (outcome.kind === "success") return { outcome: encodeSuccess(outcome.value), expiresAtMs, failure: undefined };
  return readsTypedCommands
    ? { outcome: EMPTY_BYTES, expiresAtMs, failure: encodeFailure(outcome) }
    : { outcome: encodeFailureV01(outcome), expiresAtMs, failure: undefined };
}

const SUBMITTED: ExchangeResponseBody = { case: "submitted", value: undefined };

function watch(directory: LeaderDirectory, call: ServerWritableStream<WatchRequest, Directory>): void {
  const send = (): void => {
    call.write(
      create(DirectorySchema, {
        partitionCount: directory.partitionCount,
        workers: [...directory.workers],
        leaders: directory.claims().map((claim) => create(LeaderSchema, { ...claim, epoch: BigInt(claim.epoch) })),
      }),
    );
  };
  send();
  const stop = directory.onChange(send);
  call.on("cancelled", stop);
  call.on("close", stop);
  call.on("error", stop);
}

function reasonOf(cause: unknown): string {
  if (cause instanceof PerdureError) return cause.detail;
  return cause instanceof Error ? cause.message : String(cause);
}

function bytesOfAnswer({ body: reply }: ExchangeResponse): number {
  if (reply === undefined) return SMALL_BYTES;
  switch (reply.case) {
    case "completed":
      return reply.value.outcome.length + (reply.value.failure?.length ?? 0) + SMALL_BYTES;
    case "invocation":
    case "answer":
    case "commandAnswer":
    case "error":
      return reply.value.length + SMALL_BYTES;
    default:
      return SMALL_BYTES;
  }
}
const SMALL_BYTES = 16;
