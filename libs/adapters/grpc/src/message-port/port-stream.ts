/**
 * One end of a stream of messages between threads. What arrives waits here until the reader takes it, in its order, and what is written
 * beyond the credit waits until the other end has consumed enough: one message in `write`, further ones in the buffer of Node's stream,
 * whose `write` returns false then.
 */
import { Duplex, type DuplexOptions } from "node:stream";
import { status } from "@grpc/grpc-js";
import { MESSAGE_BYTES_MAX } from "../limits.js";
import { ReceivingCredit, SendingCredit } from "./credit.js";
import type { FrameQueue } from "./frames.js";
import { frameStatus, serviceErrorOf } from "./status.js";

/** How messages become bytes; undefined for a direction that the call does not have. */
export interface StreamCodec<Sent, Received> {
  readonly serialize: ((message: Sent) => Buffer) | undefined;
  readonly deserialize: ((bytes: Buffer) => Received) | undefined;
}

/** A message that waits for credit. */
interface HeldMessage {
  readonly bytes: Uint8Array;
  readonly done: () => void;
}

/** The reader's end of the stream: normal, or with an error. */
type Ending = { readonly error: Error | undefined };

export abstract class PortStream<Sent, Received> extends Duplex {
  protected readonly number: number;
  protected readonly frames: FrameQueue;
  /** The call has ended for the other side, or the other side is gone: nothing is sent any more. */
  protected isOver = false;
  readonly #codec: StreamCodec<Sent, Received>;
  readonly #sending = new SendingCredit();
  readonly #receiving = new ReceivingCredit();
  /** Messages that the reader has not taken; bounded by the sender's credit. */
  #inbox: Uint8Array[] = [];
  /** A message in the buffer of Node's stream: it counts as consumed when the reader requests the next one. */
  #buffered: Uint8Array | undefined;
  #isRequested = false;
  #ending: Ending | undefined;
  #held: HeldMessage | undefined;

  constructor(number: number, frames: FrameQueue, codec: StreamCodec<Sent, Received>) {
    super(optionsOf(codec));
    this.number = number;
    this.frames = frames;
    this.#codec = codec;
  }

  /** A message has arrived. */
  receive(bytes: Uint8Array): void {
    this.#inbox.push(bytes);
    this.#pump();
  }

  /** No further message arrives. The reader gets the end, or the error, after the messages. */
  endReading(error?: Error): void {
    this.#ending = { error };
    this.#pump();
  }

  /** The other end has consumed so much. */
  consumed(bytes: number): void {
    this.#sending.consumed(bytes);
    if (this.#sending.isAvailable) this.#releaseHeld();
  }

  override _read(): void {
    if (this.#buffered !== undefined) this.#consume(this.#buffered);
    this.#buffered = undefined;
    this.#isRequested = true;
    this.#pump();
  }

  override _write(message: Sent, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.isOver) return done();
    let bytes: Uint8Array;
    try {
      bytes = serialized(message, this.#codec.serialize);
    } catch (cause) {
      return done(errorOf(cause));
    }
    if (!this.#sending.isAvailable) {
      this.#held = { bytes, done };
      return;
    }
    this.#send(bytes);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inbox = [];
    this.#held = undefined;
    done(error);
  }

  /** The other end does not read what is still to be sent. */
  protected over(): void {
    this.isOver = true;
    this.#releaseHeld();
  }

  #releaseHeld(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    if (!this.isOver) this.#send(held.bytes);
    held.done();
  }

  #send(bytes: Uint8Array): void {
    this.#sending.sent(bytes);
    this.#report(true);
    this.frames.addMessage(this.number, bytes);
  }

  #pump(): void {
    while (this.#isRequested && !this.destroyed) {
      const bytes = this.#inbox.shift();
      if (bytes === undefined) return this.#endAfterMessages();
      let message: Received | undefined;
      try {
        message = this.#codec.deserialize?.(asBuffer(bytes));
      } catch (cause) {
        this.destroy(serviceErrorOf(frameStatus(status.INTERNAL, `a message cannot be read: ${messageOf(cause)}`)));
        return;
      }
      this.#isRequested = this.push(message);
      if (this.#isRequested) this.#consume(bytes);
      else this.#buffered = bytes;
    }
  }

  #endAfterMessages(): void {
    if (this.#ending === undefined) return;
    this.#isRequested = false;
    if (this.#ending.error === undefined) this.push(null);
    else this.destroy(this.#ending.error);
  }

  #consume(bytes: Uint8Array): void {
    this.#receiving.consumed(bytes);
    this.#report(false);
  }

  #report(isRiding: boolean): void {
    if (this.isOver) return;
    const bytes = this.#receiving.report(isRiding);
    if (bytes > 0) this.frames.add([this.number, "consumed", bytes]);
  }
}

function optionsOf({ serialize, deserialize }: StreamCodec<never, unknown>): DuplexOptions & DuplexDirections {
  return {
    objectMode: true,
    // One message at most leaves the inbox before it is read, and `write` returns false for the first one that queues behind another.
    readableHighWaterMark: 1,
    writableHighWaterMark: 2,
    readable: deserialize !== undefined,
    writable: serialize !== undefined,
  };
}

/** Options of Node.js that the types of its streams lack. */
interface DuplexDirections {
  readonly readable: boolean;
  readonly writable: boolean;
}

/** Throws the error of a call: INTERNAL when the message has no form, RESOURCE_EXHAUSTED when it is larger than a process accepts. */
export function serialized<Message>(message: Message, serialize: ((message: Message) => Buffer) | undefined): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = serialize?.(message) ?? new Uint8Array();
  } catch (cause) {
    throw serviceErrorOf(frameStatus(status.INTERNAL, `a message cannot be serialized: ${messageOf(cause)}`));
  }
  if (bytes.byteLength <= MESSAGE_BYTES_MAX) return bytes;
  const details = `a message of ${bytes.byteLength} bytes exceeds the limit of ${MESSAGE_BYTES_MAX}`;
  throw serviceErrorOf(frameStatus(status.RESOURCE_EXHAUSTED, details));
}

export function errorOf(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

export function messageOf(cause: unknown): string {
  return errorOf(cause).message;
}

/** A view, not a copy. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
