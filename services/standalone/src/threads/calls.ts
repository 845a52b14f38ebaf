/**
 * Calls of methods in another thread of this process, in both directions over one port, in their order. Arguments and results are plain
 * data; both ends are of the same build, so they are not checked. For what no gRPC service has: a few small calls, none for an invocation.
 */
import type { MessagePort } from "node:worker_threads";
import { PerdureError } from "@perdure/base";

/** The methods that one end offers: an interface of functions. */
type Offered<Methods> = { readonly [Name in keyof Methods]: (...values: never[]) => unknown };

type CallMessage<Value = unknown> =
  | { readonly kind: "call"; readonly number: number; readonly method: string; readonly values: readonly Value[] }
  | { readonly kind: "notice"; readonly method: string; readonly values: readonly Value[] }
  | { readonly kind: "result"; readonly number: number; readonly value: Value }
  | { readonly kind: "error"; readonly number: number; readonly code: PerdureError["code"]; readonly detail: string };
/** Its values have the types that the method or the caller declares. */
type ReceivedMessage = CallMessage<never>;

interface PendingCall {
  resolve(value: never): void;
  reject(cause: PerdureError): void;
}

export class ThreadCalls<Remote extends Offered<Remote>> implements Disposable {
  readonly #port: MessagePort;
  readonly #offered: Readonly<Record<string, (...values: never[]) => unknown>>;
  readonly #pending = new Map<number, PendingCall>();
  #lastNumber = 0;
  #isClosed = false;

  /** The port belongs to the calls from now on, and keeps this thread running until it is closed. `offered`: methods for the other end. */
  constructor(port: MessagePort, offered: Readonly<Record<string, (...values: never[]) => unknown>>) {
    this.#port = port;
    this.#offered = offered;
    port.on("message", (frame: ReceivedMessage) => this.#receive(frame));
    port.on("close", () => this.#close());
  }

  /** Rejects with the error of the method, and with OPS0004 when the other thread ends before it has answered. */
  call<Name extends keyof Remote & string>(
    method: Name,
    ...values: Parameters<Remote[Name]>
  ): Promise<Awaited<ReturnType<Remote[Name]>>> {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Remote[Name]>>>();
    if (this.#isClosed) {
      reject(ended());
      return promise;
    }
    const number = ++this.#lastNumber;
    this.#pending.set(number, { resolve, reject });
    this.#post({ kind: "call", number, method, values });
    return promise;
  }

  /** Calls without waiting for the result; lost when the other thread has ended. An error of the method ends that thread. */
  notify<Name extends keyof Remote & string>(method: Name, ...values: Parameters<Remote[Name]>): void {
    this.#post({ kind: "notice", method, values });
  }

  [Symbol.dispose](): void {
    this.#port.close();
    this.#close();
  }

  #receive(frame: ReceivedMessage): void {
    if (frame.kind === "call") return void this.#run(frame);
    if (frame.kind === "notice") return void this.#offered[frame.method]?.(...frame.values);
    const pending = this.#pending.get(frame.number);
    this.#pending.delete(frame.number);
    if (frame.kind === "result") pending?.resolve(frame.value);
    else pending?.reject(new PerdureError(frame.code, frame.detail));
  }

  async #run({ number, method, values }: ReceivedMessage & { readonly kind: "call" }): Promise<void> {
    try {
      const value = await this.#offered[method]?.(...values);
      this.#post({ kind: "result", number, value });
    } catch (cause) {
      const { code, detail } = PerdureError.from(cause);
      this.#post({ kind: "error", number, code, detail });
    }
  }

  #post(frame: CallMessage): void {
    if (!this.#isClosed) this.#port.postMessage(frame);
  }

  #close(): void {
    this.#isClosed = true;
    for (const pending of this.#pending.values()) pending.reject(ended());
    this.#pending.clear();
  }
}

function ended(): PerdureError {
  return new PerdureError("OPS0004", "the other thread of this process has ended");
}
