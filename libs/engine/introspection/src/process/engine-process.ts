/**
 * The server's side of one process that runs statements (`engine-main.ts`), one at a time. It passes chunks on no faster than they are
 * read, and kills the process when a statement does not end after its time limit, or exceeds the memory limit of a process. The server
 * loses no state with the process.
 */
import type { ChildProcess } from "node:child_process";
import { Duplex } from "node:stream";
import { invariant, type TimerHandle, unreachable } from "@perdure/base";
import { refused } from "../errors.js";
import { INTERRUPT_GRACE_MS, MEMORY_CHECK_EVERY_MS, PROCESS_IDLE_MS, STDERR_CHARS_MAX } from "../limits.js";
import { processMemoryBytesMax, type SqlEngineOptions } from "../options.js";
import type { SqlAnswer, SqlFormat, SqlRefusal } from "../ports.js";
import { Turns } from "../turns.js";
import { decodeFromProcess, encodeToProcess, FROM_PROCESS_BYTES_MAX, FrameReader, writeFrame } from "./frames.js";
import type { SqlProcessPorts } from "./host.js";
import type { FromProcess, StoreAddress, ToProcess } from "./messages.js";
import { PageServer } from "./page-server.js";
import { memoryBytesOf, spawnSqlProcess } from "./spawn.js";
import { RemoteStatement } from "./statement.js";

/** Why a process was killed: a statement took too long, took too much memory, or continued after its client had disconnected. */
export type KillReason = "time" | "memory" | "abandoned";

const GONE = "the query engine stopped unexpectedly; what it was doing is lost, try again";
const CUT_OFF = "the query engine was stopped because another query took too much; run the query again";
const TOO_MUCH_MEMORY = refused("invalid", "the query needs more memory than one statement may use");
/** What V8, Node and libraries write when an allocation fails: a process can reach its limits between two checks. */
const OUT_OF_MEMORY = /heap out of memory|allocation.failed|failed to allocate|bad_alloc/i;

/** The store has another server, or none. */
const NO_STORE = () => Promise.reject(new Error("the main thread serves no store"));
const NO_READS = new Turns(1, 0);

export interface RunningStatement {
  readonly answer: Promise<SqlAnswer>;
  /** Resolves when the process is free for the next statement, or has ended. */
  readonly ran: Promise<void>;
}

export class EngineProcess {
  readonly #ports: SqlProcessPorts;
  readonly #options: SqlEngineOptions;
  readonly #memoryBytesMax: number;
  readonly #child: ChildProcess;
  readonly #stream: Duplex;
  readonly #pageServer: PageServer;
  readonly #exited = Promise.withResolvers<void>();
  /** Statements that run or whose rows are being read. */
  readonly #statements = new Map<number, RemoteStatement>();
  /** The running statement. */
  #running: { readonly query: number; readonly free: () => void; timer: TimerHandle } | undefined;
  #last = 0;
  #stderr = "";
  #memoryCheck: TimerHandle | undefined;
  #idle: TimerHandle | undefined;
  isAlive = true;
  /** Undefined while the process runs, and when it ended by itself. */
  killedFor: KillReason | "idle" | undefined;

  constructor(ports: SqlProcessPorts, options: SqlEngineOptions, store: StoreAddress | undefined) {
    this.#ports = ports;
    this.#options = options;
    this.#memoryBytesMax = processMemoryBytesMax(options);
    const { entry, environment = [] } = ports;
    this.#child = spawnSqlProcess({
      entry,
      memoryBytesMax: this.#memoryBytesMax,
      heapBytesMax: options.heapBytesMax,
      environment,
    });
    const stream = this.#child.stdio[3];
    invariant(stream instanceof Duplex, "the process has a stream for messages");
    this.#stream = stream;
    this.#pageServer = new PageServer({ live: ports.live, openStore: NO_STORE, reads: NO_READS }, (message) =>
      this.#send(message),
    );
    const frames = new FrameReader(FROM_PROCESS_BYTES_MAX);
    this.#stream.on("data", (piece: Buffer) => {
      try {
        for (const frame of frames.push(piece)) this.#receive(decodeFromProcess(frame));
      } catch (cause) {
        this.#end(cause);
      }
    });
    this.#stream.on("error", () => undefined); // The exit of the process reports the error.
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS_MAX);
    });
    this.#child.on("error", (cause) => {
      this.#end(cause);
      this.#exited.resolve(); // The process never started.
    });
    // After its last output, which may say that it had no memory left.
    this.#child.on("close", (code, signal) => {
      if (OUT_OF_MEMORY.test(this.#stderr)) this.#kill("memory", TOO_MUCH_MEMORY);
      this.#end(new Error(`the process ended with ${signal ?? `exit code ${code}`}`));
      this.#exited.resolve();
    });
    this.#send({ kind: "start", data: { source: ports.source, options, store } });
    ports.logger.info({ pid: this.#child.pid }, "the query engine starts");
  }

  get isFree(): boolean {
    return this.isAlive && this.#running === undefined;
  }

  /** Statements whose rows are being read. */
  get openResults(): number {
    return this.#statements.size - (this.#running === undefined ? 0 : 1);
  }

  /**
   * Call it when the process `isFree`. `changesAt`: a position in the record of changes, requested before, for the snapshot that the
   * process takes.
   */
  query(text: string, format: SqlFormat, changesAt: number | undefined, signal: AbortSignal): RunningStatement {
    const { clock } = this.#ports;
    const query = ++this.#last;
    const statement = new RemoteStatement({
      more: () => this.#send({ kind: "more", query }),
      cancel: () => this.#cancel(query),
      signal,
    });
    const { promise: ran, resolve: free } = Promise.withResolvers<void>();
    const timeoutMs = this.#options.statementTimeoutMs;
    const timer = clock.setTimer(timeoutMs + INTERRUPT_GRACE_MS, () =>
      this.#kill("time", refused("invalid", `the query took longer than ${timeoutMs / 1000} seconds`)),
    );
    this.#running = { query, free, timer };
    this.#statements.set(query, statement);
    this.#idle?.cancel();
    this.#idle = undefined;
    if (this.#memoryCheck === undefined) this.#watchMemory();
    this.#send({ kind: "query", query, text, format, changesAt });
    return { answer: statement.answer, ran };
  }

  /** Resolves when the process has ended. */
  async close(): Promise<void> {
    if (this.isAlive) {
      this.killedFor = "idle";
      for (const statement of this.#statements.values()) statement.lose(refused("unavailable", "the query was cancelled"));
      this.#end(undefined);
    }
    await this.#exited.promise;
  }

  #send(message: ToProcess): void {
    if (this.isAlive) writeFrame(this.#stream, encodeToProcess(message));
  }

  /** The client has disconnected. The statement is interrupted; when it cannot be interrupted, the process is killed. */
  #cancel(query: number): void {
    if (!this.isAlive) return;
    this.#send({ kind: "cancel", query });
    const running = this.#running;
    if (running?.query !== query) return;
    running.timer.cancel();
    running.timer = this.#ports.clock.setTimer(INTERRUPT_GRACE_MS, () =>
      this.#kill("abandoned", refused("unavailable", "the query was cancelled")),
    );
  }

  #watchMemory(): void {
    this.#memoryCheck = this.#ports.clock.setTimer(MEMORY_CHECK_EVERY_MS, () => {
      const { pid } = this.#child;
      const bytes = pid === undefined ? undefined : memoryBytesOf(pid);
      if (bytes !== undefined && bytes > this.#memoryBytesMax) return this.#kill("memory", TOO_MUCH_MEMORY);
      this.#watchMemory();
    });
  }

  #kill(reason: KillReason, refusal: SqlRefusal): void {
    if (!this.isAlive) return;
    this.killedFor = reason;
    this.#ports.logger.warn({ pid: this.#child.pid, reason }, "a query was killed with its engine; the next one starts it again");
    const running = this.#running;
    if (running !== undefined) this.#statements.get(running.query)?.lose(refusal);
    this.#end(undefined);
  }

  #receive(message: FromProcess): void {
    switch (message.kind) {
      case "requestRows":
      case "read":
      case "requestMore":
      case "endRequest":
      case "snapshot":
      case "release":
        void this.#pageServer.receive(message);
        return;
      case "engineError":
        this.#ports.logger.error({ stack: message.stack }, message.what);
        return;
      case "refused":
      case "answer":
      case "chunk":
      case "end":
      case "failed": {
        const statement = this.#statements.get(message.query);
        if (message.kind !== "chunk" && this.#running?.query === message.query) this.#free();
        if (message.kind !== "answer" && message.kind !== "chunk") this.#remove(message.query);
        statement?.receive(message);
        return;
      }
      default:
        return unreachable(message);
    }
  }

  #free(): void {
    this.#running?.timer.cancel();
    this.#running?.free();
    this.#running = undefined;
  }

  #remove(query: number): void {
    this.#statements.delete(query);
    if (this.#statements.size > 0 || !this.isAlive) return;
    this.#memoryCheck?.cancel();
    this.#memoryCheck = undefined;
    this.#idle = this.#ports.clock.setTimer(PROCESS_IDLE_MS, () => {
      this.killedFor = "idle";
      this.#end(undefined);
    });
  }

  /** Called once. `cause` is set when the process ended by itself. */
  #end(cause: unknown): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    if (this.killedFor === undefined) {
      const fields = { cause, stderr: this.#stderr };
      this.#ports.logger.error(fields, "the query engine stopped; the next statement starts it again");
    }
    if (this.killedFor !== "idle") this.#ports.onEnd?.(this.killedFor ?? "failed");
    const refusal = refused("unavailable", this.killedFor === undefined ? GONE : CUT_OFF);
    for (const statement of this.#statements.values()) statement.lose(refusal);
    this.#statements.clear();
    this.#free();
    this.#memoryCheck?.cancel();
    this.#idle?.cancel();
    this.#child.kill("SIGKILL");
    void this.#pageServer.close();
  }
}
