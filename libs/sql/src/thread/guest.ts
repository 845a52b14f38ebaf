/**
 * Why: the thread in which statements run. It has the engine and its own view of the store, so that reading, sorting and encoding
 * cost the process's main thread nothing but handing chunks on. A composition root starts it with a way to open stores.
 *
 *     port ▸ query ─▸ engine ─▸ store (own handle, own snapshot)       chunks ─▸ port, as many as were asked for
 *                       └────▸ LiveAsker ─▸ port ─▸ what only the process knows
 */
import { systemClock, unreachable } from "@perdure/base";
import { createSqlEngine } from "../engine.js";
import { CHUNKS_AHEAD, READ_STALL_MS, RESULT_BYTES_MAX } from "../limits.js";
import type { SqlEngine } from "../options.js";
import type { SourceDescription, SqlAnswer, StoredRows } from "../ports.js";
import { LiveAsker } from "./live-asker.js";
import type { FromThread, ThreadData, ToThread } from "./messages.js";

export type { ThreadData } from "./messages.js";

/** The little of a `MessagePort` that is used. */
export interface ThreadPort {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  on(event: "message", listener: (message: unknown) => void): unknown;
  close(): void;
}

/** A store as a thread sees it. */
export interface OpenStore extends AsyncDisposable {
  /** Of its snapshots, see `IntrospectionSource`. */
  readonly isOneMoment: boolean;
  /** What is committed now; disposed of when the statement has read it. */
  snapshot(): StoredRows & AsyncDisposable;
}

export interface SqlThreadParts {
  readonly port: ThreadPort;
  readonly data: ThreadData;
  readonly openStore: (description: SourceDescription) => Promise<OpenStore>;
}

/** Answers what comes over the port until it is told to close; then nothing of it keeps the thread alive. Rejects when the store does not open. */
export async function runSqlThread({ port, data, openStore }: SqlThreadParts): Promise<void> {
  const send = (message: FromThread, transfer?: readonly ArrayBuffer[]): void => port.postMessage(message, transfer);
  const asker = new LiveAsker(send);
  const readers = new Map<number, Reader>();
  const early: ToThread[] = [];
  let receive = (message: ToThread): void => void early.push(message);
  port.on("message", (message) => receive(message as ToThread)); // What comes while the store opens is kept.

  const store = await openStore(data.source);
  const engine = createSqlEngine(
    { source: sourceOf(data, store, asker), clock: systemClock, logger: troubleOver(send) },
    data.options,
  );
  receive = (message) => {
    switch (message.kind) {
      case "query": {
        const reader = new Reader(message, send);
        readers.set(message.query, reader);
        void reader.run(engine).finally(() => readers.delete(message.query));
        return;
      }
      case "more":
        readers.get(message.query)?.more();
        return;
      case "cancel":
        readers.get(message.query)?.cancel();
        return;
      case "rows":
      case "askFailed":
        asker.receive(message);
        return;
      case "close":
        void close(engine, store, port);
        return;
      default:
        return unreachable(message);
    }
  };
  for (const message of early) receive(message);
}

async function close(engine: SqlEngine, store: OpenStore, port: ThreadPort): Promise<void> {
  await engine[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  port.close();
}

function sourceOf({ source: { partitionCount } }: ThreadData, store: OpenStore, asker: LiveAsker) {
  return {
    open() {
      const rows = store.snapshot();
      return {
        partitionCount,
        isOneMoment: store.isOneMoment,
        store: rows,
        live: asker.rows,
        [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
      };
    },
  };
}

/** One statement and the way of its chunks to the process. */
class Reader {
  readonly #message: ToThread & { readonly kind: "query" };
  readonly #send: (message: FromThread, transfer?: readonly ArrayBuffer[]) => void;
  readonly #controller = new AbortController();
  /** Chunks that may be sent before more are asked for. */
  #credit = CHUNKS_AHEAD;
  #onCredit: (() => void) | undefined;

  constructor(
    message: ToThread & { readonly kind: "query" },
    send: (message: FromThread, transfer?: readonly ArrayBuffer[]) => void,
  ) {
    this.#message = message;
    this.#send = send;
  }

  more(): void {
    this.#credit++;
    this.#onCredit?.();
  }

  cancel(): void {
    this.#controller.abort(new Error("the query was cancelled"));
    this.#onCredit?.();
  }

  /** Never rejects. */
  async run(engine: SqlEngine): Promise<void> {
    const { query, text, format } = this.#message;
    const answer = await engine.query(text, format, this.#controller.signal);
    if (answer.kind === "refused") return this.#send({ kind: "refused", query, refusal: answer });
    this.#send({ kind: "answer", query, contentType: answer.contentType });
    try {
      await this.#sendChunks(answer);
      this.#send({ kind: "end", query });
    } catch (cause) {
      this.#send({ kind: "failed", query, message: cause instanceof Error ? cause.message : String(cause) });
    }
  }

  async #sendChunks(answer: SqlAnswer & { readonly kind: "rows" }): Promise<void> {
    const { query } = this.#message;
    let sent = 0;
    for await (const chunk of answer.chunks) {
      sent += chunk.length;
      if (sent > RESULT_BYTES_MAX) throw new Error(`the result is larger than ${RESULT_BYTES_MAX} bytes`);
      await this.#untilWanted();
      this.#credit--;
      const bytes = chunk.byteLength === chunk.buffer.byteLength ? chunk : chunk.slice(); // A part of a shared buffer stays here.
      this.#send({ kind: "chunk", query, bytes }, [bytes.buffer as ArrayBuffer]);
    }
  }

  async #untilWanted(): Promise<void> {
    const { signal } = this.#controller;
    if (this.#credit === 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onCredit = resolve;
      const timer = systemClock.setTimer(READ_STALL_MS, () => {
        this.#controller.abort(new Error(`nobody read the result for ${READ_STALL_MS / 1000} seconds`));
        resolve();
      });
      await promise;
      timer.cancel();
      this.#onCredit = undefined;
    }
    signal.throwIfAborted();
  }
}

/** The engine's log lines that matter to the process; its fields do not travel. */
function troubleOver(send: (message: FromThread) => void) {
  const tell = (fields: object, what: string): void => {
    const cause: unknown = "cause" in fields ? fields.cause : undefined;
    send({ kind: "trouble", what, stack: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) });
  };
  const logger = { debug() {}, info() {}, warn: tell, error: tell, child: () => logger };
  return logger;
}
