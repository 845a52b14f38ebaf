/**
 * The server's side of the processes that run statements. There are as many slots as statements may run at once; a process is started
 * when a statement finds no free one, and ends when it is idle. A process that was killed or failed is replaced for the next statement,
 * after a short random pause.
 */
import { totalmem } from "node:os";
import { type Clock, invariant, type Logger, pause, type Random } from "@perdure/base";
import { refused } from "../errors.js";
import {
  OPEN_RESULTS_MAX,
  PROCESS_STARTS_MAX,
  PROCESS_STARTS_WINDOW_MS,
  RESTART_PAUSE_MS_MAX,
  RETRY_AFTER_SECONDS,
} from "../limits.js";
import { optionsWithin, SQL_ENGINE_DEFAULTS, type SqlEngine, type SqlEngineOptions } from "../options.js";
import type { CompletedChangesPort, LiveRows, SourceDescription, SqlAnswer, SqlFormat } from "../ports.js";
import { Turns } from "../turns.js";
import { EngineProcess, type KillReason, type RunningStatement } from "./engine-process.js";
import type { StoreService } from "./store-server.js";

export interface SqlProcessPorts {
  /** Module that calls `runSqlProcess`. */
  readonly entry: URL;
  /** Location of committed data for the process. */
  readonly source: SourceDescription;
  /** Serves the store of kind `served`; disposed of with the engine. */
  readonly storeService?: StoreService;
  readonly live: LiveRows;
  /** Lets processes keep copies of completed invocations from statement to statement. */
  readonly completedChanges?: CompletedChangesPort;
  /** Names of environment variables that the process gets. */
  readonly environment?: readonly string[];
  /** A process was killed, or `failed` by itself. */
  readonly onEnd?: (reason: KillReason | "failed") => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Costs nothing until the first statement. Disposing of it waits until the processes have ended. */
export function createSqlProcesses(ports: SqlProcessPorts, options: Partial<SqlEngineOptions> = {}): SqlEngine {
  return new SqlProcessHost(ports, optionsWithin({ ...SQL_ENGINE_DEFAULTS, ...options }, containerBytes()));
}

/** Memory limit of the server's container; undefined outside of a container. */
function containerBytes(): number | undefined {
  const bytes = process.constrainedMemory();
  return bytes > 0 && bytes < totalmem() ? bytes : undefined;
}

class SqlProcessHost implements SqlEngine {
  readonly #turns: Turns;
  readonly #places: readonly ProcessSlot[];
  readonly #closing = new AbortController();
  readonly #store: StoreService | undefined;
  readonly query = (text: string, format: SqlFormat, signal: AbortSignal): Promise<SqlAnswer> =>
    this.#query(text, format, signal);

  constructor(ports: SqlProcessPorts, options: SqlEngineOptions) {
    this.#store = ports.storeService;
    this.#turns = new Turns(options.runningQueriesMax, options.waitingQueriesMax);
    this.#places = Array.from({ length: options.runningQueriesMax }, () => new ProcessSlot(ports, options));
  }

  async #query(text: string, format: SqlFormat, callerSignal: AbortSignal): Promise<SqlAnswer> {
    const signal = AbortSignal.any([callerSignal, this.#closing.signal]);
    if (signal.aborted) return CANCELLED;
    const openResults = this.#places.reduce((sum, place) => sum + place.openResults, 0);
    if (openResults >= OPEN_RESULTS_MAX) return BUSY;
    try {
      if (!(await this.#turns.begin(signal))) return BUSY;
    } catch {
      return CANCELLED;
    }
    let running: RunningStatement | undefined;
    try {
      running = await this.#freePlace().run(text, format, signal);
    } finally {
      if (running === undefined) this.#turns.end();
      else void running.ran.then(() => this.#turns.end());
    }
    if (running !== undefined) return await running.answer;
    return signal.aborted ? CANCELLED : FAILS_AGAIN_AND_AGAIN;
  }

  /** A free slot, preferably one with a running process. */
  #freePlace(): ProcessSlot {
    const free = this.#places.filter(({ isFree }) => isFree);
    const place = free.find(({ isWarm }) => isWarm) ?? free[0];
    invariant(place !== undefined, "there are as many slots as turns");
    return place;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("the server is stopping"));
    await Promise.all(this.#places.map((place) => place.close()));
    await this.#store?.[Symbol.asyncDispose]();
  }
}

const CANCELLED = refused("unavailable", "the query was cancelled");
const BUSY = refused("busy", "too many queries are running", RETRY_AFTER_SECONDS);
const FAILS_AGAIN_AND_AGAIN = refused(
  "unavailable",
  "the query engine has stopped several times in a row; try again in a minute",
);

/** A slot: its process, or the process that will be started next. */
class ProcessSlot {
  readonly #ports: SqlProcessPorts;
  readonly #options: SqlEngineOptions;
  #process: EngineProcess | undefined;
  /** A statement is about to run in this slot. */
  #isReserved = false;
  /** Times at which processes ended by themselves, within the window. */
  #failedAtMs: readonly number[] = [];

  constructor(ports: SqlProcessPorts, options: SqlEngineOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  get isFree(): boolean {
    return !this.#isReserved && (this.#process === undefined || !this.#process.isAlive || this.#process.isFree);
  }

  /** Starts a process early, so that a statement need not wait for its start. */
  get isWarm(): boolean {
    return this.#process?.isAlive === true;
  }

  get openResults(): number {
    return this.#process?.openResults ?? 0;
  }

  /**
   * Resolves when the process `isFree`. Undefined when the signal is aborted before, and when processes ended by themselves too often
   * recently.
   */
  async run(text: string, format: SqlFormat, signal: AbortSignal): Promise<RunningStatement | undefined> {
    this.#isReserved = true;
    try {
      const changesAt = await this.#ports.completedChanges?.position();
      if (this.#process?.isAlive !== true) {
        const hasFailed = this.#noteEnd();
        if (this.#failedAtMs.length >= PROCESS_STARTS_MAX) return undefined;
        // A random pause: not all servers of a fleet, nor both slots of one, start a process at the same moment.
        if (hasFailed) await pause(this.#ports.clock, this.#ports.random.float() * RESTART_PAUSE_MS_MAX, signal);
        if (signal.aborted) return undefined; // No process for a client that has disconnected.
        const store = await this.#ports.storeService?.address().catch(() => "failed" as const); // The failure was logged.
        if (store === "failed") return undefined;
        this.#process = new EngineProcess(this.#ports, this.#options, store);
      }
      return signal.aborted ? undefined : this.#process.query(text, format, changesAt, signal);
    } finally {
      this.#isReserved = false;
    }
  }

  /** Whether the last process was killed or ended by itself, which is counted. */
  #noteEnd(): boolean {
    const { clock } = this.#ports;
    const nowMs = clock.monotonicMs();
    this.#failedAtMs = this.#failedAtMs.filter((atMs) => nowMs - atMs < PROCESS_STARTS_WINDOW_MS);
    const last = this.#process;
    this.#process = undefined;
    if (last === undefined || last.killedFor === "idle") return false;
    if (last.killedFor === undefined) this.#failedAtMs = [...this.#failedAtMs, nowMs];
    return true;
  }

  async close(): Promise<void> {
    await this.#process?.close();
  }
}
