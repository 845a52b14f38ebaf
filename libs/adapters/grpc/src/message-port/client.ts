/** The channel to a thread that serves the other end of a `MessagePort`. */
import type { MessagePort } from "node:worker_threads";
import { type CallOptions, type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { unreachable } from "@perdure/base";
import type { Channel, DuplexCall, ReadingCall, UnaryCall } from "../channel.js";
import { PORT_CALLS_MAX } from "../limits.js";
import { FrameQueue, type PortFrame } from "./frames.js";
import { asBuffer, errorOf, messageOf, PortStream, type StreamCodec, serialized } from "./port-stream.js";
import { entriesOf, type FrameStatus, frameStatus, serviceErrorOf, statusOfError } from "./status.js";

/**
 * The port belongs to the channel from now on. It keeps the process alive only while calls are open. When the other thread ends or closes the
 * port, open calls and all later ones fail with UNAVAILABLE: a port is not opened again.
 */
export function openPortChannel(port: MessagePort): Channel {
  return new PortChannel(port);
}

/** A call that waits for frames of the server. */
interface OpenCall {
  receive(bytes: Uint8Array): void;
  consumed(bytes: number): void;
  /** The call has ended; called once, and nothing after it. */
  ended(status: FrameStatus): void;
}

class PortChannel implements Channel {
  readonly #port: MessagePort;
  readonly #frames: FrameQueue;
  readonly #calls = new Map<number, OpenCall>();
  #lastNumber = 0;
  /** Why calls fail; undefined while the port is open. */
  #closedBecause: string | undefined;

  constructor(port: MessagePort) {
    this.#port = port;
    this.#frames = new FrameQueue(port);
    port.on("message", (frames: readonly PortFrame[]) => {
      for (const frame of frames) this.#receive(frame);
    });
    port.on("close", () => this.#closed("the other thread has closed the port or has ended"));
    port.unref(); // The listener for messages has referenced it.
  }

  makeUnaryRequest<In, Out>(
    path: string,
    serialize: (message: In) => Buffer,
    deserialize: (bytes: Buffer) => Out,
    request: In,
    metadata: Metadata,
    options: CallOptions,
    answered: (error: ServiceError | null, answer?: Out) => void,
  ): UnaryCall {
    const number = ++this.#lastNumber;
    const call = new ClientUnary(deserialize, answered);
    call.cancelAt(options.deadline, () => this.#give(number, call, DEADLINE_EXCEEDED));
    this.#begin(number, call, () => this.#frames.addOpen(number, path, entriesOf(metadata), serialized(request, serialize)));
    return { cancel: () => this.#give(number, call, CANCELLED) };
  }

  makeServerStreamRequest<In, Out>(
    path: string,
    serialize: (message: In) => Buffer,
    deserialize: (bytes: Buffer) => Out,
    request: In,
    metadata?: Metadata,
    options?: CallOptions,
  ): ReadingCall<Out> {
    const number = ++this.#lastNumber;
    const call = this.#stream<never, Out>(number, { serialize: undefined, deserialize });
    call.cancelAt(options?.deadline, () => call.stop(DEADLINE_EXCEEDED));
    this.#begin(number, call, () => this.#frames.addOpen(number, path, entriesOf(metadata), serialized(request, serialize)));
    return call;
  }

  makeBidiStreamRequest<In, Out>(
    path: string,
    serialize: (message: In) => Buffer,
    deserialize: (bytes: Buffer) => Out,
  ): DuplexCall<In> {
    const number = ++this.#lastNumber;
    const call = this.#stream<In, Out>(number, { serialize, deserialize });
    this.#begin(number, call, () => this.#frames.addOpen(number, path, [], undefined));
    return call;
  }

  close(): void {
    this.#closed("this process has closed the channel");
    this.#port.close();
  }

  #stream<In, Out>(number: number, codec: StreamCodec<In, Out>): ClientStream<In, Out> {
    return new ClientStream(number, this.#frames, codec, () => this.#cancel(number));
  }

  /** A call that cannot begin ends after its caller has attached its listeners. */
  #begin(number: number, call: OpenCall, open: () => void): void {
    const refuse = (reason: FrameStatus): void => process.nextTick(() => call.ended(reason));
    if (this.#closedBecause !== undefined) return refuse(frameStatus(status.UNAVAILABLE, this.#closedBecause));
    if (this.#calls.size >= PORT_CALLS_MAX) {
      return refuse(frameStatus(status.RESOURCE_EXHAUSTED, `${PORT_CALLS_MAX} calls wait for the other thread already`));
    }
    try {
      open();
    } catch (cause) {
      return refuse(statusOfError(errorOf(cause)));
    }
    if (this.#calls.size === 0) this.#port.ref();
    this.#calls.set(number, call);
  }

  #receive(frame: PortFrame): void {
    const [number, kind, value] = frame;
    const call = this.#calls.get(number);
    if (call === undefined) return; // The caller has given up.
    switch (kind) {
      case "message":
        return call.receive(value);
      case "consumed":
        return call.consumed(value);
      case "status":
        this.#remove(number);
        return call.ended(value);
      case "open":
      case "end":
      case "cancel":
        return; // Frames of clients.
      default:
        return unreachable(kind);
    }
  }

  /** The caller does not wait for the rest. */
  #cancel(number: number): void {
    if (this.#remove(number)) this.#frames.add([number, "cancel"]);
  }

  /** Ends a unary call for its caller, who gets `reason`. */
  #give(number: number, call: OpenCall, reason: FrameStatus): void {
    if (this.#calls.get(number) !== call) return;
    this.#cancel(number);
    process.nextTick(() => call.ended(reason));
  }

  #remove(number: number): boolean {
    if (!this.#calls.delete(number)) return false;
    if (this.#calls.size === 0) this.#port.unref();
    return true;
  }

  #closed(reason: string): void {
    if (this.#closedBecause !== undefined) return;
    this.#closedBecause = reason;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#port.unref();
    for (const call of calls) call.ended(frameStatus(status.UNAVAILABLE, reason));
  }
}

const CANCELLED = frameStatus(status.CANCELLED, "Cancelled on client");
const DEADLINE_EXCEEDED = frameStatus(status.DEADLINE_EXCEEDED, "Deadline exceeded");

/** The longest delay of a timer of Node.js; a call with a later deadline has none. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Undefined when there is no deadline. */
function timerUntil(deadline: CallOptions["deadline"], task: () => void): NodeJS.Timeout | undefined {
  if (deadline === undefined) return undefined;
  const delayMs = Number(deadline) - Date.now();
  return delayMs > TIMER_MS_MAX ? undefined : setTimeout(task, Math.max(0, delayMs));
}

class ClientUnary<Out> implements OpenCall {
  readonly #deserialize: (bytes: Buffer) => Out;
  readonly #answered: (error: ServiceError | null, answer?: Out) => void;
  #timer: NodeJS.Timeout | undefined;
  #bytes: Uint8Array | undefined;

  constructor(deserialize: (bytes: Buffer) => Out, answered: (error: ServiceError | null, answer?: Out) => void) {
    this.#deserialize = deserialize;
    this.#answered = answered;
  }

  cancelAt(deadline: CallOptions["deadline"], cancel: () => void): void {
    this.#timer = timerUntil(deadline, cancel);
  }

  receive(bytes: Uint8Array): void {
    this.#bytes = bytes;
  }

  consumed(): void {} // Only streams have credit.

  ended(reason: FrameStatus): void {
    clearTimeout(this.#timer);
    if (reason.code !== status.OK) return this.#answered(serviceErrorOf(reason));
    let answer: Out;
    try {
      answer = this.#deserialize(asBuffer(this.#bytes ?? new Uint8Array()));
    } catch (cause) {
      const details = `the answer cannot be read: ${messageOf(cause)}`;
      return this.#answered(serviceErrorOf(frameStatus(status.INTERNAL, details)));
    }
    this.#answered(null, answer);
  }
}

class ClientStream<In, Out> extends PortStream<In, Out> implements OpenCall {
  readonly #cancelled: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** `cancelled`: called when the stream is given up before the server has ended it. */
  constructor(number: number, frames: FrameQueue, codec: StreamCodec<In, Out>, cancelled: () => void) {
    super(number, frames, codec);
    this.#cancelled = cancelled;
  }

  cancelAt(deadline: CallOptions["deadline"], cancel: () => void): void {
    this.#timer = timerUntil(deadline, cancel);
  }

  cancel(): void {
    this.stop(CANCELLED);
  }

  stop(reason: FrameStatus): void {
    if (!this.destroyed && !this.readableEnded) this.destroy(serviceErrorOf(reason));
  }

  ended(reason: FrameStatus): void {
    clearTimeout(this.#timer);
    this.over();
    this.endReading(reason.code === status.OK ? undefined : serviceErrorOf(reason));
  }

  override _final(done: () => void): void {
    if (!this.isOver) this.frames.add([this.number, "end"]);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.over();
    this.#cancelled();
    super._destroy(error, done);
  }
}
