/** Serves calls of a thread at the other end of a `MessagePort`, with the same handlers that a gRPC server has. */
import { EventEmitter } from "node:events";
import type { MessagePort } from "node:worker_threads";
import {
  type Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { type Logger, unreachable } from "@perdure/base";
import { FrameQueue, type PortFrame } from "./frames.js";
import { asBuffer, errorOf, PortStream, type StreamCodec, serialized } from "./port-stream.js";
import { entriesOf, type FrameStatus, frameStatus, metadataOf, OK, statusOfError } from "./status.js";

export interface PortServer {
  /** Adds the methods of a service. Calls that arrived before the first service wait; then methods without a service are UNIMPLEMENTED. */
  serve(definition: ServiceDefinition, handlers: UntypedServiceImplementation): void;
  /** Cancels the open calls and closes the port. A second call does nothing. */
  close(): void;
}

/**
 * The port belongs to the server from now on. It keeps the process alive only while calls are open. When the other thread ends or closes the
 * port, the open calls are cancelled.
 */
export function servePort(port: MessagePort, logger: Logger): PortServer {
  return new MessagePortServer(port, logger);
}

/** A handler of any kind: one of a stream gets no `answer`. */
type Handler = (call: unknown, answer?: sendUnaryData<unknown>) => void;

interface Method {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly handler: Handler;
}

/** A call that is not over. */
interface ServedCall {
  receive(bytes: Uint8Array): void;
  consumed(bytes: number): void;
  endReading(): void;
  /** The client does not wait for the rest, or its thread is gone. */
  hangUp(): void;
}

class MessagePortServer implements PortServer {
  readonly #port: MessagePort;
  readonly #frames: FrameQueue;
  readonly #logger: Logger;
  readonly #methods = new Map<string, Method>();
  readonly #calls = new Map<number, ServedCall>();
  #isListening = false;

  constructor(port: MessagePort, logger: Logger) {
    this.#port = port;
    this.#frames = new FrameQueue(port);
    this.#logger = logger;
    port.on("close", () => this.#hangUpAll());
  }

  serve(definition: ServiceDefinition, handlers: UntypedServiceImplementation): void {
    for (const [name, method] of Object.entries(definition)) {
      const handler = handlers[name];
      if (handler !== undefined) this.#methods.set(method.path, { definition: method, handler: handler as Handler });
    }
    if (this.#isListening) return;
    this.#isListening = true;
    this.#port.on("message", (frames: readonly PortFrame[]) => {
      for (const frame of frames) this.#receive(frame);
    });
    this.#port.unref(); // The listener for messages has referenced it.
  }

  close(): void {
    this.#hangUpAll();
    this.#frames.flush();
    this.#port.close();
  }

  #receive(frame: PortFrame): void {
    const [number, kind] = frame;
    switch (kind) {
      case "open":
        return this.#open(frame);
      case "message":
        return this.#calls.get(number)?.receive(frame[2]);
      case "consumed":
        return this.#calls.get(number)?.consumed(frame[2]);
      case "end":
        return this.#calls.get(number)?.endReading();
      case "cancel":
        return this.#hangUp(number);
      case "status":
        return; // A frame of servers.
      default:
        return unreachable(kind);
    }
  }

  #open([number, , path, metadata, request]: Extract<PortFrame, readonly [number, "open", ...unknown[]]>): void {
    const method = this.#methods.get(path);
    if (method === undefined) {
      this.#frames.add([number, "status", frameStatus(status.UNIMPLEMENTED, `The server does not implement the method ${path}`)]);
      return;
    }
    try {
      this.#begin(number, method, metadataOf(metadata), request);
    } catch (cause) {
      this.#logger.error({ error: errorOf(cause).stack, method: path }, "a call of another thread could not be handled");
      this.#finish(number, frameStatus(status.UNKNOWN, "the call could not be handled"));
    }
  }

  /** Throws when the request cannot be read, and what the handler throws. */
  #begin(number: number, { definition, handler }: Method, metadata: Metadata, bytes: Uint8Array | undefined): void {
    const { path, requestStream, responseStream, requestDeserialize, responseSerialize } = definition;
    const request = bytes === undefined ? undefined : requestDeserialize(asBuffer(bytes));
    if (responseStream) {
      const codec = { serialize: responseSerialize, deserialize: requestStream ? requestDeserialize : undefined };
      const finish = (reason: FrameStatus): void => this.#finish(number, reason);
      const call = new ServerStream(number, this.#frames, codec, { path, metadata, request, finish });
      this.#add(number, call);
      return handler(call);
    }
    const call = new ServerUnary(path, metadata, request);
    this.#add(number, call);
    handler(call, (error, answer, trailer) => {
      if (error !== null) return this.#finish(number, statusOfError(error, trailer));
      this.#answer(number, () => serialized(answer, responseSerialize), trailer);
    });
  }

  #answer(number: number, bytesOf: () => Uint8Array, trailer: Metadata | undefined): void {
    if (!this.#calls.has(number)) return; // The client has given up.
    try {
      this.#frames.addMessage(number, bytesOf());
    } catch (cause) {
      return this.#finish(number, statusOfError(errorOf(cause)));
    }
    this.#finish(number, { ...OK, metadata: entriesOf(trailer) });
  }

  #add(number: number, call: ServedCall): void {
    if (this.#calls.size === 0) this.#port.ref();
    this.#calls.set(number, call);
  }

  #finish(number: number, reason: FrameStatus): void {
    if (this.#remove(number)) this.#frames.add([number, "status", reason]);
  }

  #hangUp(number: number): void {
    const call = this.#calls.get(number);
    this.#remove(number);
    call?.hangUp();
  }

  #hangUpAll(): void {
    for (const number of [...this.#calls.keys()]) this.#hangUp(number);
  }

  #remove(number: number): boolean {
    if (!this.#calls.delete(number)) return false;
    if (this.#calls.size === 0) this.#port.unref();
    return true;
  }
}

/** Has of grpc-js's `ServerUnaryCall` what the handlers use. */
class ServerUnary extends EventEmitter implements ServedCall {
  readonly metadata: Metadata;
  readonly request: unknown;
  cancelled = false;
  readonly #path: string;

  constructor(path: string, metadata: Metadata, request: unknown) {
    super();
    this.#path = path;
    this.metadata = metadata;
    this.request = request;
  }

  getPath(): string {
    return this.#path;
  }

  hangUp(): void {
    this.cancelled = true;
    this.emit("cancelled", "cancelled");
  }

  // A client of a unary method sends its request alone.
  receive(): void {}
  consumed(): void {}
  endReading(): void {}
}

interface ServerStreamCall {
  readonly path: string;
  readonly metadata: Metadata;
  /** Undefined when the client sends a stream. */
  readonly request: unknown;
  /** Sends the status, unless the client has given up. */
  finish(reason: FrameStatus): void;
}

/** Has of grpc-js's `ServerWritableStream` and `ServerDuplexStream` what the handlers use. */
class ServerStream extends PortStream<unknown, unknown> implements ServedCall {
  readonly metadata: Metadata;
  readonly request: unknown;
  cancelled = false;
  readonly #path: string;
  readonly #finish: (reason: FrameStatus) => void;

  constructor(
    number: number,
    frames: FrameQueue,
    codec: StreamCodec<unknown, unknown>,
    { path, metadata, request, finish }: ServerStreamCall,
  ) {
    super(number, frames, codec);
    this.metadata = metadata;
    this.request = request;
    this.#path = path;
    this.#finish = finish;
    this.on("error", (error) => {
      this.#end(statusOfError(error));
      this.destroy(); // A handler may have emitted the error itself.
    });
  }

  getPath(): string {
    return this.#path;
  }

  hangUp(): void {
    this.cancelled = true;
    this.over();
    this.emit("cancelled", "cancelled");
    this.destroy();
  }

  override _final(done: () => void): void {
    this.#end(OK);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#end(error === null ? frameStatus(status.CANCELLED, "the handler has given the call up") : statusOfError(error));
    super._destroy(error, done);
  }

  #end(reason: FrameStatus): void {
    if (this.isOver) return;
    this.over();
    this.#finish(reason);
  }
}
