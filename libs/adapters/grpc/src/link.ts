/**
 * A connection to one worker: a stream that opens with the first request and opens again after it broke. Requests without an answer when
 * the stream broke go back to their callers, because only callers can decide whether a request may be repeated.
 */

import { status } from "@grpc/grpc-js";
import type { InvocationId } from "@perdure/base";
import { Batching, type Soon } from "./batching.js";
import type { Channel, DuplexCall } from "./channel.js";
import { CAPABILITIES_V01, type Capabilities, decodeHello, HELLO } from "./codec/capabilities.js";
import { encodeManagementCommand, type ManagementCommand } from "./codec/commands.js";
import type { ExchangeRequest, ExchangeRequestBody, ExchangeResponse, ExchangeResponseBody } from "./codec/exchange.js";
import { partitionsDefinition } from "./definitions.js";
import { UNANNOUNCED_COMMANDS_MAX } from "./limits.js";
import { RequestNumbers } from "./request-numbers.js";
import { encodeCommandV01, unsupportedByV01 } from "./v01/exchange.js";

/** A request of callers. The link chooses the form in which the worker reads a management command. */
export type WorkerRequest =
  | Exclude<ExchangeRequestBody, { case: "hello" | "command" }>
  | { readonly case: "manage"; readonly value: ManagementCommand };

/** A request under way. */
export interface OpenExchange {
  /** The id of the invocation; it determines the partition. */
  readonly id: InvocationId;
  /** True: there is nothing more to come. */
  answered(response: ExchangeResponseBody): boolean;
  /** The stream broke; whether the request arrived is unknown. */
  broken(reason: string): void;
}

type Unavailable = Extract<ExchangeResponseBody, { case: "unavailable" }>;

export class WorkerLink {
  readonly address: string;
  readonly #channel: Channel;
  readonly #soon: Soon | undefined;
  readonly #pending = new Map<number, OpenExchange>();
  #stream: DuplexCall<readonly ExchangeRequest[]> | undefined;
  #out: Batching<ExchangeRequest, readonly ExchangeRequest[]> | undefined;
  readonly #numbers = new RequestNumbers();
  /** What the worker announced on the present stream; undefined until it has. */
  #capabilities: Capabilities | undefined;
  /** Management commands that wait for that, by the number of their request. */
  readonly #unannounced = new Map<number, ManagementCommand>();
  #closed = false;

  /** `soon`: when queued requests are sent; by default at the end of the turn of the event loop. */
  constructor(address: string, channel: Channel, soon?: Soon) {
    this.address = address;
    this.#channel = channel;
    this.#soon = soon;
  }

  /** Requests without a last answer. */
  get openCount(): number {
    return this.#pending.size;
  }

  /** Undefined when too much waits for this worker already. `discard` takes the returned number. */
  request(request: WorkerRequest, pending: OpenExchange): number | undefined {
    const out = this.#connected();
    if (out === undefined || out.isFull) return undefined;
    if (request.case === "manage" && this.#unannounced.size >= UNANNOUNCED_COMMANDS_MAX) return undefined;
    const number = this.#numbers.next(this.#pending);
    this.#pending.set(number, pending);
    if (request.case !== "manage") out.add({ number, body: request });
    else if (this.#capabilities === undefined) this.#unannounced.set(number, request.value);
    else this.#manage(number, request.value, this.#capabilities);
    return number;
  }

  /** Sends a command in the form that the worker reads, or answers for a worker that cannot carry it out. */
  #manage(number: number, command: ManagementCommand, { readsTypedCommands }: Capabilities): void {
    const body = bodyOf(command, readsTypedCommands);
    if (body.case !== "unavailable") return this.#out?.add({ number, body });
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    pending?.answered(body);
  }

  /** Drops a request whose caller no longer waits for the answer. */
  discard(number: number): void {
    if (!this.#pending.delete(number) || this.#out === undefined) return;
    if (this.#unannounced.delete(number)) return; // It was never sent.
    this.#out.add({ number: 0, body: { case: "forget", value: number } });
  }

  /**
   * Ends the requests that `isSelected` picks as if the stream had broken: their partition has another leader, whether or not this worker
   * has noticed.
   */
  giveBack(isSelected: (pending: OpenExchange) => boolean, reason: string): void {
    const picked = [...this.#pending].filter(([, pending]) => isSelected(pending));
    for (const [number] of picked) this.discard(number);
    for (const [, pending] of picked) pending.broken(reason);
  }

  close(): void {
    this.#closed = true;
    this.#stream?.cancel();
    this.#channel.close();
    this.#break("this process is shutting down");
  }

  #connected(): Batching<ExchangeRequest, readonly ExchangeRequest[]> | undefined {
    if (this.#closed) return undefined;
    if (this.#out !== undefined) return this.#out;
    const { path, requestSerialize, responseDeserialize } = partitionsDefinition.exchange;
    const stream = this.#channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    const out = new Batching<ExchangeRequest, readonly ExchangeRequest[]>(
      { write: (batch) => stream.write(batch) },
      (requests) => requests,
      bytesOfRequest,
      this.#soon,
    );
    this.#stream = stream;
    this.#out = out;
    out.add({ number: 0, body: { case: "hello", value: HELLO } });
    stream.on("drain", () => out.drained());
    stream.on("data", (answers: readonly ExchangeResponse[]) => {
      if (this.#stream !== stream) return; // The rest of a stream that was given up.
      for (const { number, body } of answers) if (body !== undefined) this.#answered(number, body);
    });
    stream.on("end", () => this.#ended(stream, "the worker closed the stream"));
    stream.on("error", (error: Error & { readonly code?: number; readonly details?: string }) => {
      if (error.code === status.CANCELLED && this.#closed) return;
      this.#ended(stream, error.details ?? error.message);
    });
    return out;
  }

  #answered(number: number, response: ExchangeResponseBody): void {
    if (number === 0) return this.#announced(response);
    const pending = this.#pending.get(number);
    if (pending === undefined) return; // The caller has given up.
    if (response.case === "submitted") {
      if (pending.answered(response)) this.#pending.delete(number);
      return;
    }
    this.#pending.delete(number);
    pending.answered(response);
  }

  /** The answer to `hello`: v0.1 answers that it does not have the request. */
  #announced(response: ExchangeResponseBody): void {
    const capabilities = response.case === "hello" ? decodeHello(response.value) : CAPABILITIES_V01;
    this.#capabilities = capabilities;
    for (const [number, command] of this.#unannounced) this.#manage(number, command, capabilities);
    this.#unannounced.clear();
  }

  #ended(stream: DuplexCall<readonly ExchangeRequest[]>, reason: string): void {
    if (this.#stream !== stream) return;
    stream.cancel();
    this.#break(reason);
  }

  #break(reason: string): void {
    this.#out?.close();
    this.#stream = undefined;
    this.#out = undefined;
    this.#capabilities = undefined;
    this.#unannounced.clear();
    const ended = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of ended) pending.broken(reason);
  }
}

/** Callers repeat what is unavailable, and a worker of the new release carries it out. */
function bodyOf(command: ManagementCommand, readsTypedCommands: boolean): ExchangeRequestBody | Unavailable {
  if (readsTypedCommands) return { case: "command", value: encodeManagementCommand(command) };
  const unsupported = unsupportedByV01(command);
  if (unsupported === undefined) return { case: "submit", value: encodeCommandV01(command) };
  const value = `the worker that leads the partition runs v0.1, which cannot ${unsupported}: repeat the request when the worker is upgraded`;
  return { case: "unavailable", value };
}

function bytesOfRequest({ body }: ExchangeRequest): number {
  if (body === undefined) return SMALL_BYTES;
  if (body.case === "invoke" || body.case === "deliver") return body.value.command.length + SMALL_BYTES;
  return body.case === "submit" || body.case === "command" ? body.value.length + SMALL_BYTES : SMALL_BYTES;
}
const SMALL_BYTES = 48;
