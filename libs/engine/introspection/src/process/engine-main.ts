/**
 * Main module of the process in which statements run. It has the engine, and no state whose loss would matter: the server kills it when a
 * statement takes too long or too much memory. A service's entry point starts it with a function that opens stores.
 *
 *     stream ▸ query ─▸ engine ─▸ store (the server's, or a connection of its own)     chunks ─▸ stream, as many as were requested
 *                         └────▸ PageRequester ─▸ stream ─▸ state of the server
 */
import { writeFileSync } from "node:fs";
import { connect, Socket } from "node:net";
import { setPriority } from "node:os";
import { systemClock, unreachable, utf8 } from "@perdure/base";
import type { KeyValue } from "@perdure/storage";
import { CompletedCache } from "../completed/cache.js";
import { createSqlEngine } from "../engine.js";
import { CHUNK_BYTES_MAX, CHUNKS_AHEAD, PROCESS_NICENESS, READ_STALL_MS, RESULT_BYTES_MAX } from "../limits.js";
import type { SqlEngine } from "../options.js";
import type { SourceDescription, SqlAnswer, StoredRows } from "../ports.js";
import { decodeToProcess, encodeFromProcess, FrameReader, TO_PROCESS_BYTES_MAX, writeFrame } from "./frames.js";
import type { FromProcess, ProcessData, StoreAddress, ToProcess } from "./messages.js";
import { PageRequester } from "./page-requester.js";
import { openServedStore } from "./remote-rows.js";

export { runStoreThread, type StoreThreadData } from "./store-server.js";

/** File descriptor of the stream to the server. */
const STREAM_FD = 3;

/** A store as seen by a statement process. */
export interface OpenStore extends AsyncDisposable {
  /** Property of its snapshots, see `IntrospectionSource`. */
  readonly isOneMoment: boolean;
  /** Returns the rows that are committed now; disposed of when the statement has been read. */
  snapshot(): StoredRows & AsyncDisposable & { readonly kv?: KeyValue };
}

interface SqlProcessParts {
  /** Opens a store that the server does not serve. */
  readonly openStore: (description: SourceDescription) => Promise<OpenStore>;
}

/** Handles messages from the stream until the stream ends, and then ends the process. */
export function runSqlProcess({ openStore }: SqlProcessParts): void {
  standBack();
  const stream = new Socket({ fd: STREAM_FD, readable: true, writable: true });
  const send = (message: FromProcess): void => writeFrame(stream, encodeFromProcess(message));
  const requester = new PageRequester(send);
  const frames = new FrameReader(TO_PROCESS_BYTES_MAX);
  let statements: Promise<Statements> | undefined;

  stream.on("data", (piece) => {
    for (const frame of frames.push(piece)) {
      const message = decodeToProcess(frame);
      switch (message.kind) {
        case "start":
          statements = openEngine(message.data, { openStore, requester, send });
          break;
        case "rows":
        case "requestFailed":
          requester.receive(message);
          break;
        case "query":
        case "more":
        case "cancel":
          void statements?.then((opened) => opened.receive(message));
          break;
        default:
          unreachable(message);
      }
    }
  });
  stream.on("error", end);
  stream.on("close", end);
}

/** The connection to the server has ended. Threads of the engine may be in a step that no exit would wait for. */
function end(): void {
  process.kill(process.pid, "SIGKILL");
}

/** Called before any thread is started: threads inherit the niceness. */
function standBack(): void {
  if (process.platform !== "linux") return;
  setPriority(0, PROCESS_NICENESS);
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000"); // The system kills this process first when memory is short.
  } catch {
    // No such file where /proc is hidden.
  }
}

interface ProcessParts extends SqlProcessParts {
  readonly requester: PageRequester;
  readonly send: (message: FromProcess) => void;
}

async function openEngine(data: ProcessData, { openStore, requester, send }: ProcessParts): Promise<Statements> {
  const store = data.store === undefined ? await openStore(data.source) : openServed(data.store);
  const moment: Moment = { changesAt: undefined };
  const ports = { source: sourceOf(data, store, requester, moment), clock: systemClock, logger: errorsOver(send) };
  return new Statements(createSqlEngine(ports, { ...data.options, runningQueriesMax: 1 }), moment, send);
}

/** A second stream, to the thread of the server that reads its store. */
function openServed({ path, token }: StoreAddress): OpenStore {
  const stream = connect(path);
  stream.on("error", end);
  const frames = new FrameReader(TO_PROCESS_BYTES_MAX);
  const send = (message: FromProcess): void => writeFrame(stream, encodeFromProcess(message));
  const requester = new PageRequester(send);
  writeFrame(stream, utf8(token));
  stream.on("data", (piece) => {
    for (const frame of frames.push(piece)) {
      const message = decodeToProcess(frame);
      if (message.kind === "rows" || message.kind === "requestFailed") requester.receive(message);
    }
  });
  stream.on("close", end); // Without the store no statement can continue.
  return openServedStore(requester, send);
}

/** The server's position in the record of changes, from the message of the last statement. */
interface Moment {
  changesAt: number | undefined;
}

function sourceOf({ source, options }: ProcessData, store: OpenStore, requester: PageRequester, moment: Moment) {
  const { partitionCount } = source;
  const cache = new CompletedCache(options.completedBytesMax);
  return {
    open() {
      const { changesAt } = moment; // From before the snapshot that is taken now.
      const rows = store.snapshot();
      const live = requester.rows;
      const { kv } = rows;
      return {
        partitionCount,
        isOneMoment: store.isOneMoment,
        store: rows,
        live,
        completed: kv === undefined || changesAt === undefined ? undefined : cache.view({ changesAt, snapshot: kv, live }),
        [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
      };
    },
  };
}

type StatementCommand = ToProcess & { readonly kind: "query" | "more" | "cancel" };

class Statements {
  readonly #engine: SqlEngine;
  readonly #moment: Moment;
  readonly #send: (message: FromProcess) => void;
  readonly #readers = new Map<number, StatementRunner>();

  constructor(engine: SqlEngine, moment: Moment, send: (message: FromProcess) => void) {
    this.#engine = engine;
    this.#moment = moment;
    this.#send = send;
  }

  receive(message: StatementCommand): void {
    switch (message.kind) {
      case "query": {
        this.#moment.changesAt = message.changesAt;
        const reader = new StatementRunner(message, this.#send);
        this.#readers.set(message.query, reader);
        void reader.run(this.#engine).finally(() => this.#readers.delete(message.query));
        return;
      }
      case "more":
        return this.#readers.get(message.query)?.more();
      case "cancel":
        return this.#readers.get(message.query)?.cancel();
      default:
        return unreachable(message);
    }
  }
}

/** One statement and the sending of its chunks to the server. */
class StatementRunner {
  readonly #message: ToProcess & { readonly kind: "query" };
  readonly #send: (message: FromProcess) => void;
  readonly #controller = new AbortController();
  /** Chunks that may be sent before more are requested. */
  #credit = CHUNKS_AHEAD;
  #onCredit: (() => void) | undefined;

  constructor(message: ToProcess & { readonly kind: "query" }, send: (message: FromProcess) => void) {
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
      for (let start = 0; start < chunk.length; start += CHUNK_BYTES_MAX) {
        await this.#untilCredit();
        this.#credit--;
        this.#send({ kind: "chunk", query, bytes: chunk.subarray(start, start + CHUNK_BYTES_MAX) });
      }
    }
  }

  async #untilCredit(): Promise<void> {
    const { signal } = this.#controller;
    if (this.#credit === 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onCredit = resolve;
      const timer = systemClock.setTimer(READ_STALL_MS, () => {
        this.#controller.abort(new Error(`the client did not read the result for ${READ_STALL_MS / 1000} seconds`));
        resolve();
      });
      await promise;
      timer.cancel();
      this.#onCredit = undefined;
    }
    signal.throwIfAborted();
  }
}

/** Log lines of the engine that matter to the server; their fields are not sent. */
function errorsOver(send: (message: FromProcess) => void) {
  const report = (fields: object, what: string): void => {
    const cause: unknown = "cause" in fields ? fields.cause : undefined;
    send({ kind: "engineError", what, stack: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) });
  };
  const logger = { debug() {}, info() {}, warn: report, error: report, child: () => logger };
  return logger;
}
