/**
 * Watches one of several processes that have the same: reads a stream of messages, and after a pause that of the next process when the
 * stream is lost, whether it ended, failed or had a message that cannot be read.
 */

import type { MethodDefinition } from "@grpc/grpc-js";
import { Backoff, type Clock, PerdureError, type Random, type TimerHandle } from "@perdure/base";
import type { Channel, ReadingCall } from "./channel.js";
import { RECONNECT_BOUNDS, RECONNECT_LONGEST_MS } from "./limits.js";
import { isUnimplemented } from "./status.js";

interface WatchStreamPorts {
  readonly clock: Clock;
  /** Draws the pauses between attempts to connect. */
  readonly random?: Random | undefined;
}

/** A process that can be watched. */
export interface WatchTarget {
  readonly client: Channel;
  /** Called once, when its stream is over. */
  readonly release?: () => void;
}

/** The stream as one release has it. */
export interface WatchForm<Message> {
  /** Opens the stream. `onMessage` gets a function that throws when the message cannot be read. */
  open(client: Channel, onMessage: (read: () => Message) => void): ReadingCall<unknown>;
}

export function watchForm<In, Out, Message>(
  { path, requestSerialize, responseDeserialize }: MethodDefinition<In, Out>,
  request: In,
  read: (message: Out) => Message,
): WatchForm<Message> {
  return {
    open(client, onMessage) {
      const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
      stream.on("data", (message: Out) => onMessage(() => read(message)));
      return stream;
    },
  };
}

interface WatchStreamOptions<Message> {
  /** Newest first: a process that does not have a form is watched in the next one, without a pause. */
  readonly forms: readonly WatchForm<Message>[];
  /** The process to watch next; undefined when there is none now, which is tried again after the longest pause. */
  readonly next: () => WatchTarget | undefined;
  readonly onMessage: (message: Message) => void;
  /** Called when a stream was lost, before its target is released. `pauseMs`: until the next process is watched. */
  readonly onLost: (reason: string, pauseMs: number) => void;
}

export class WatchStream<Message> {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #options: WatchStreamOptions<Message>;
  #target: WatchTarget | undefined;
  #stream: ReadingCall<unknown> | undefined;
  #pause: TimerHandle | undefined;
  #isClosed = false;

  /** Calls `next` before it returns. */
  constructor({ clock, random }: WatchStreamPorts, options: WatchStreamOptions<Message>) {
    this.#clock = clock;
    this.#backoff = new Backoff(RECONNECT_BOUNDS, random);
    this.#options = options;
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    this.#pause?.cancel();
    this.#hangUp();
  }

  #connect(): void {
    const target = this.#options.next();
    if (target === undefined) return this.#connectLater(RECONNECT_LONGEST_MS);
    this.#target = target;
    this.#read(target.client, 0);
  }

  #connectLater(pauseMs: number): void {
    this.#pause = this.#clock.setTimer(pauseMs, () => this.#connect());
  }

  /** `at`: place of the form. */
  #read(client: Channel, at: number): void {
    const { forms, onMessage } = this.#options;
    const stream = forms[at]?.open(client, (read) => {
      if (this.#stream !== stream) return;
      let message: Message;
      try {
        message = read();
      } catch (cause) {
        return this.#lost(stream, PerdureError.from(cause).message);
      }
      this.#backoff.reset();
      onMessage(message);
    });
    this.#stream = stream;
    stream?.on("end", () => this.#lost(stream, "it closed the stream"));
    stream?.on("error", (error: Error) => {
      if (this.#stream !== stream) return;
      if (at + 1 < forms.length && isUnimplemented(error)) this.#read(client, at + 1);
      else this.#lost(stream, error.message);
    });
  }

  #lost(stream: ReadingCall<unknown> | undefined, reason: string): void {
    if (this.#isClosed || this.#stream !== stream) return;
    const pauseMs = this.#backoff.next();
    this.#options.onLost(reason, pauseMs);
    this.#hangUp();
    this.#connectLater(pauseMs);
  }

  #hangUp(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.on("error", () => undefined); // `cancel` emits an error on the stream.
    stream?.cancel();
    this.#target?.release?.();
    this.#target = undefined;
  }
}
