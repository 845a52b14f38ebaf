/**
 * Why: the process's side of the thread that runs statements (`guest.ts`). It starts the thread when the first statement comes,
 * hands chunks on no faster than they are read, and outlives the thread: when that ends without being asked (out of memory, a
 * failure nobody caught), everyone who waits hears that the service is not available, and the next statement starts another.
 */
import { Worker } from "node:worker_threads";
import { type Clock, type Logger, type TimerHandle, unreachable } from "@perdure/base";
import { refused } from "../errors.js";
import {
  OPEN_RESULTS_MAX,
  OVERDUE_MS,
  RETRY_AFTER_SECONDS,
  THREAD_CLOSE_MS,
  THREAD_HEAP_MB_MAX,
  THREAD_STARTS_MAX,
  THREAD_STARTS_WINDOW_MS,
  THREAD_YOUNG_HEAP_MB_MAX,
} from "../limits.js";
import { SQL_ENGINE_DEFAULTS, type SqlEngine, type SqlEngineOptions } from "../options.js";
import type { LiveRows, SourceDescription, SqlAnswer, SqlFormat } from "../ports.js";
import { LiveAnswerer } from "./live-answerer.js";
import type { FromThread, ThreadData, ToThread } from "./messages.js";

export interface SqlThreadPorts {
  /** Module that calls `runSqlThread`. */
  readonly entry: URL;
  /** Where the thread finds what is committed. */
  readonly source: SourceDescription;
  readonly live: LiveRows;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Costs nothing until the first statement. Disposing of it waits until the thread has let go of the store. */
export function createSqlThread(ports: SqlThreadPorts, options: Partial<SqlEngineOptions> = {}): SqlEngine {
  return new Host(ports, { ...SQL_ENGINE_DEFAULTS, ...options });
}

const GONE = "the query engine stopped unexpectedly; what it was doing is lost, try again";

class Host implements SqlEngine {
  readonly #ports: SqlThreadPorts;
  readonly #options: SqlEngineOptions;
  /** When threads were started, within the window. */
  #startedAtMs: readonly number[] = [];
  #thread: Thread | undefined;
  #isClosed = false;
  readonly query = (text: string, format: SqlFormat, signal: AbortSignal): Promise<SqlAnswer> =>
    this.#query(text, format, signal);

  constructor(ports: SqlThreadPorts, options: SqlEngineOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  async #query(text: string, format: SqlFormat, signal: AbortSignal): Promise<SqlAnswer> {
    if (this.#isClosed || signal.aborted) return refused("unavailable", "the query was cancelled");
    const thread = this.#running();
    if (thread === undefined) {
      return refused("unavailable", "the query engine has stopped several times in a row; try again in a minute");
    }
    const { runningQueriesMax, waitingQueriesMax } = this.#options;
    if (thread.size >= runningQueriesMax + waitingQueriesMax + OPEN_RESULTS_MAX) {
      return refused("busy", "too many queries are running", RETRY_AFTER_SECONDS);
    }
    return await thread.query(text, format, signal);
  }

  /** Undefined when it has died too often of late. */
  #running(): Thread | undefined {
    if (this.#thread?.isAlive === true) return this.#thread;
    const nowMs = this.#ports.clock.monotonicMs();
    const recent = this.#startedAtMs.filter((atMs) => nowMs - atMs < THREAD_STARTS_WINDOW_MS);
    if (recent.length >= THREAD_STARTS_MAX) return undefined;
    this.#startedAtMs = [...recent, nowMs];
    this.#thread = new Thread(this.#ports, this.#options);
    return this.#thread;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.close();
  }
}

/** A thread from its start to its end. */
class Thread {
  readonly #worker: Worker;
  readonly #ports: SqlThreadPorts;
  readonly #overdueMs: number;
  readonly #answerer: LiveAnswerer;
  /** Statements the thread has not ended yet. */
  readonly #statements = new Map<number, Statement>();
  readonly #exited = Promise.withResolvers<void>();
  #last = 0;
  #watch: TimerHandle | undefined;
  #heardAtMs = 0;
  #isClosing = false;
  isAlive = true;

  constructor(ports: SqlThreadPorts, options: SqlEngineOptions) {
    this.#ports = ports;
    this.#overdueMs = options.statementTimeoutMs + OVERDUE_MS;
    const workerData: ThreadData = { source: ports.source, options };
    this.#worker = new Worker(ports.entry, {
      workerData,
      name: "sql",
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB_MAX, maxYoungGenerationSizeMb: THREAD_YOUNG_HEAP_MB_MAX },
    });
    this.#answerer = new LiveAnswerer(ports.live, (message) => this.#send(message));
    this.#worker.on("message", (message: FromThread) => this.#receive(message));
    this.#worker.on("error", (cause) => this.#die(cause));
    this.#worker.on("exit", () => {
      this.#die(undefined);
      this.#exited.resolve();
    });
    ports.logger.info({}, "the query engine starts");
  }

  /** Statements that run, wait or are being read. */
  get size(): number {
    return this.#statements.size;
  }

  query(text: string, format: SqlFormat, signal: AbortSignal): Promise<SqlAnswer> {
    const query = ++this.#last;
    const statement = new Statement({
      more: () => this.#send({ kind: "more", query }),
      cancel: () => this.#send({ kind: "cancel", query }),
      signal,
    });
    this.#statements.set(query, statement);
    if (this.#watch === undefined) {
      this.#heardAtMs = this.#ports.clock.monotonicMs();
      this.#watchFor(this.#overdueMs);
    }
    this.#send({ kind: "query", query, text, format });
    return statement.answer;
  }

  /** Resolves when the thread is gone, or too stubborn to wait for. */
  async close(): Promise<void> {
    if (!this.isAlive) return await this.#untilGone();
    this.#isClosing = true;
    for (const statement of this.#statements.values()) statement.cancel();
    this.#send({ kind: "close" });
    await this.#untilGone();
  }

  async #untilGone(): Promise<void> {
    const timer = this.#ports.clock.setTimer(THREAD_CLOSE_MS, () => {
      this.#ports.logger.warn({}, "the query engine does not end; it is left behind");
      this.#exited.resolve();
    });
    await this.#exited.promise;
    timer.cancel();
  }

  #send(message: ToThread): void {
    if (this.isAlive) this.#worker.postMessage(message);
  }

  /** While statements are there, the thread must say something now and then: each of them ends, one way or the other, in time. */
  #watchFor(delayMs: number): void {
    this.#watch = this.#ports.clock.setTimer(delayMs, () => {
      const silentMs = this.#ports.clock.monotonicMs() - this.#heardAtMs;
      if (silentMs < this.#overdueMs) return this.#watchFor(this.#overdueMs - silentMs);
      this.#die(new Error(`the query engine said nothing for ${Math.round(silentMs / 1000)} seconds`));
    });
  }

  #receive(message: FromThread): void {
    this.#heardAtMs = this.#ports.clock.monotonicMs();
    switch (message.kind) {
      case "ask":
      case "askMore":
      case "askEnd":
        void this.#answerer.receive(message);
        return;
      case "trouble":
        this.#ports.logger.error({ stack: message.stack }, message.what);
        return;
      case "refused":
      case "answer":
      case "chunk":
      case "end":
      case "failed": {
        const statement = this.#statements.get(message.query);
        if (message.kind !== "answer" && message.kind !== "chunk") this.#forget(message.query);
        statement?.receive(message);
        return;
      }
      default:
        return unreachable(message);
    }
  }

  #forget(query: number): void {
    this.#statements.delete(query);
    if (this.#statements.size > 0) return;
    this.#watch?.cancel();
    this.#watch = undefined;
  }

  /** Once: nobody waits for a dead thread. */
  #die(cause: unknown): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    if (!this.#isClosing) this.#ports.logger.error({ cause }, "the query engine stopped; the next statement starts it again");
    for (const statement of this.#statements.values()) statement.lose(this.#isClosing ? "the query was cancelled" : GONE);
    this.#statements.clear();
    this.#watch?.cancel();
    void this.#worker.terminate();
  }
}

interface StatementParts {
  readonly more: () => void;
  readonly cancel: () => void;
  readonly signal: AbortSignal;
}

type AboutStatement = FromThread & { readonly kind: "refused" | "answer" | "chunk" | "end" | "failed" };

/** What a caller waits for: first an answer, then its chunks. */
class Statement {
  readonly #parts: StatementParts;
  readonly #answer = Promise.withResolvers<SqlAnswer>();
  /** Chunks that came and were not read. The thread sends no more of them than it was allowed. */
  readonly #chunks: Uint8Array[] = [];
  #ended: { readonly failure: Error | undefined } | undefined;
  #wake: (() => void) | undefined;
  readonly #onAbort = (): void => this.cancel();

  constructor(parts: StatementParts) {
    this.#parts = parts;
    parts.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get answer(): Promise<SqlAnswer> {
    return this.#answer.promise;
  }

  receive(message: AboutStatement): void {
    switch (message.kind) {
      case "refused":
        this.#settle(message.refusal);
        return;
      case "answer":
        this.#answer.resolve({ kind: "rows", contentType: message.contentType, chunks: this.#read() });
        return;
      case "chunk":
        this.#chunks.push(message.bytes);
        this.#wake?.();
        return;
      case "end":
        return this.#end(undefined);
      case "failed":
        return this.#end(new Error(message.message));
      default:
        return unreachable(message);
    }
  }

  /** The caller does not wait; the thread is told and ends it. */
  cancel(): void {
    this.#parts.cancel();
    this.#settle(refused("unavailable", "the query was cancelled"));
    this.#end(new Error("the query was cancelled"));
  }

  /** The thread is gone. */
  lose(message: string): void {
    this.#settle(refused("unavailable", message));
    this.#end(new Error(message));
  }

  #settle(answer: SqlAnswer): void {
    this.#answer.resolve(answer);
    this.#parts.signal.removeEventListener("abort", this.#onAbort);
  }

  #end(failure: Error | undefined): void {
    this.#ended ??= { failure };
    this.#parts.signal.removeEventListener("abort", this.#onAbort);
    this.#wake?.();
  }

  async *#read(): AsyncIterable<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift(); // At most `CHUNKS_AHEAD` are there.
        if (chunk !== undefined) {
          yield chunk;
          this.#parts.more();
        } else if (this.#ended !== undefined) {
          if (this.#ended.failure !== undefined) throw this.#ended.failure;
          return;
        } else {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#wake = resolve;
          await promise;
          this.#wake = undefined;
        }
      }
    } finally {
      if (this.#ended === undefined) this.cancel(); // Who stops reading wants no more of it.
    }
  }
}
