/**
 * Measures one row: the servers take turns, so that a busy minute of the machine meets all of them, and each round begins with another one.
 * A row that fails or takes too long is recorded as such, and the run continues.
 */
import { Burners } from "./burners.js";
import { noOpMs } from "./calls.js";
import type { Endpoint } from "./endpoints.js";
import type { ServerKind } from "./kinds.js";
import { load, watchOthers } from "./machine.js";
import { until } from "./processes.js";
import type { ServerResult } from "./record.js";
import type { Readings, Row, Run } from "./row.js";
import { Server } from "./servers.js";
import { roundsOf, type Settings } from "./settings.js";
import { wrk } from "./wrk.js";

/** Ids of one server in one round. */
const IDS = 10_000_000;
const WARM_UP_CONNECTIONS = 8;

let idRanges = 0;

export interface RowResult {
  readonly servers: Partial<Record<ServerKind, ServerResult>>;
  /** Share of all processors that other processes used meanwhile, and the load at the end. */
  readonly othersShare: number;
  readonly load: number;
}

export async function measureRow(
  row: Row,
  endpoint: Endpoint,
  settings: Settings,
  say: (text: string) => void,
): Promise<RowResult> {
  const kinds = settings.servers.filter((kind) => row.servers?.includes(kind) ?? true);
  const others = watchOthers();
  using burners = new DisposableStack();
  if (row.isBesideBurners === true) burners.use(new Burners());
  const measured = await alternate(row, kinds, endpoint, settings, say);
  return { servers: measured, othersShare: others(), load: load() };
}

async function alternate(
  row: Row,
  kinds: readonly ServerKind[],
  endpoint: Endpoint,
  settings: Settings,
  say: (text: string) => void,
): Promise<Partial<Record<ServerKind, ServerResult>>> {
  await using turns = new AsyncDisposableStack();
  const all = kinds.map((kind) => turns.use(new Turns(row, kind, endpoint, settings)));
  for (let round = 0; round < roundsOf(settings, row.isFresh === true); round++) {
    for (const each of round % 2 === 0 ? all : all.toReversed()) {
      await each.take();
      const { failure, rounds } = each.result;
      say(`${row.name}, ${each.kind}, round ${round + 1}: ${failure ?? format(rounds.at(-1) ?? {})}`);
    }
  }
  return Object.fromEntries(all.map(({ kind, result }) => [kind, result]));
}

const format = (readings: Readings): string =>
  Object.entries(readings)
    .slice(0, 6)
    .map(([key, value]) => `${key} ${value.toFixed(1)}`)
    .join(", ");

/** One server of a row. Its time runs only during its own turns. */
class Turns implements AsyncDisposable {
  readonly kind: ServerKind;
  readonly #row: Row;
  readonly #endpoint: Endpoint;
  readonly #settings: Settings;
  readonly #rounds: Readings[] = [];
  #failure: string | undefined;
  #run: Run | undefined;
  #leftMs: number;

  constructor(row: Row, kind: ServerKind, endpoint: Endpoint, settings: Settings) {
    this.kind = kind;
    this.#row = row;
    this.#endpoint = endpoint;
    this.#settings = settings;
    this.#leftMs = row.secondsMax * 1_000;
  }

  get result(): ServerResult {
    return { rounds: this.#rounds, ...(this.#failure === undefined ? {} : { failure: this.#failure }) };
  }

  /** Never rejects: a failure is a result, and the turns after it are empty. */
  async take(): Promise<void> {
    if (this.#failure !== undefined) return;
    const began = performance.now();
    const timeout = AbortSignal.timeout(Math.ceil(Math.max(1, this.#leftMs)));
    const isOver = new Promise<never>((_, reject) => {
      timeout.addEventListener("abort", () => reject(new Error(`not done within ${this.#row.secondsMax} s`)));
    });
    try {
      this.#rounds.push(await Promise.race([this.#measure(timeout), isOver]));
    } catch (cause) {
      this.#failure = cause instanceof Error ? cause.message : String(cause);
    }
    this.#leftMs -= performance.now() - began;
    if (this.#failure !== undefined || this.#row.isFresh === true) await this[Symbol.asyncDispose]();
  }

  async #measure(signal: AbortSignal): Promise<Readings> {
    const { isShort, seconds } = this.#settings;
    const firstId = idRanges++ * IDS;
    if (this.#run !== undefined) {
      this.#run = { ...this.#run, firstId, signal };
      return this.#row.measure(this.#run);
    }
    const server = await Server.create(this.kind, this.#programOf(), this.#row.settings);
    this.#run = { server, endpoint: this.#endpoint, startMs: 0, seconds, isShort, firstId, signal };
    const startMs = await server.start(signal);
    await server.register(this.#endpoint.uri);
    this.#run = { ...this.#run, startMs };
    if (this.#row.isCold === true) return this.#row.measure(this.#run);
    const isAnswered = async (): Promise<boolean> => (await noOpMs(server, signal)) >= 0;
    await until("a no-op to be answered", isAnswered, { signal });
    await wrk(server.ingress, "noop", WARM_UP_CONNECTIONS, isShort ? 1 : 3, { signal });
    await this.#row.prepare?.(this.#run);
    return this.#row.measure(this.#run);
  }

  #programOf(): string | undefined {
    return this.kind === "other" ? this.#settings.other : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    await run?.server[Symbol.asyncDispose]();
  }
}
