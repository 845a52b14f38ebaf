/**
 * Elects one process of many with an advisory lock of the database. The lock ends with the connection, so a crashed leader frees it, and
 * the database ends the connection of a leader that has gone silent. For a moment two processes may act as leader (a broken connection is
 * noticed late): the work of the leader must then be safe, and only wasteful.
 */
import { backoffMs, type Clock, causeMessage, type Logger, type Random, type TimerHandle } from "@perdure/base";
import pg from "pg";
import { CONNECT_TIMEOUT_MS, LEADER_POLL_MS, LEADER_POLL_TIMEOUT_MS, LEADER_SILENT_MS } from "./limits.js";

/**
 * Makes the server end the session of a frozen leader. Needs version 14; with an older database a frozen leader blocks the others until an
 * operator ends its connection.
 */
const GIVE_UP_THE_SILENT =
  "SELECT set_config('idle_session_timeout', $1, false) WHERE current_setting('server_version_num')::int >= 140000";

interface PostgresLeadershipOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly environment: string;
  /** Name of the work: one process of the environment leads for each name. */
  readonly name: string;
}

export interface LeaderTerm {
  /** False as soon as another process may lead: from then on nothing must be begun. A frozen process finds that out as it thaws. */
  readonly isSure: boolean;
}

interface PostgresLeadershipPorts {
  /** Begins the work; disposing of the returned object ends it. A rejection counts as lost leadership. */
  readonly lead: (leadership: LeaderTerm) => Promise<AsyncDisposable>;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

/** Tries to become the leader, again and again, from now until it is disposed of. Never fails: without a database no process leads. */
export class PostgresLeadership implements AsyncDisposable, LeaderTerm {
  readonly #options: PostgresLeadershipOptions;
  readonly #ports: PostgresLeadershipPorts;
  #client: pg.Client | undefined;
  #work: AsyncDisposable | undefined;
  #timer: TimerHandle | undefined;
  #polling: Promise<void>;
  #isAway = false;
  /** Monotonic time of the last query that the database answered. */
  #sureAtMs = 0;
  #isClosed = false;

  constructor(options: PostgresLeadershipOptions, ports: PostgresLeadershipPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#polling = this.#poll();
  }

  get isLeading(): boolean {
    return this.#work !== undefined;
  }

  get isSure(): boolean {
    return this.#client !== undefined && this.#ports.clock.monotonicMs() - this.#sureAtMs < LEADER_SILENT_MS;
  }

  /** Ends the work of the leader, then releases the lock. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#polling;
    await this.#resign();
  }

  /** Never rejects. */
  async #poll(): Promise<void> {
    const { clock, random, logger } = this.#ports;
    const { name } = this.#options;
    try {
      const requestedAtMs = clock.monotonicMs();
      const client = this.#client ?? (await this.#connect());
      if (this.#work !== undefined) {
        await client.query("SELECT 1");
        this.#sureAtMs = requestedAtMs;
      } else if (await this.#takes(client)) {
        this.#sureAtMs = requestedAtMs;
        this.#work = await this.#ports.lead(this);
        logger.info({ leadership: name }, "this process leads now");
      }
      this.#isAway = false;
    } catch (cause) {
      const reason = causeMessage(cause);
      if (this.#work !== undefined) logger.warn({ leadership: name, reason }, "lost the leadership");
      else if (!this.#isAway) logger.warn({ leadership: name, reason }, "cannot request the leadership; retrying");
      this.#isAway = true;
      await this.#resign();
    }
    if (this.#isClosed) return;
    // Processes that lost a database together must not return to it together.
    const bounds = { firstMs: LEADER_POLL_MS, longestMs: LEADER_POLL_MS };
    this.#timer = clock.setTimer(this.#isAway ? backoffMs(0, bounds, random) : LEADER_POLL_MS, () => {
      this.#timer = undefined;
      this.#polling = this.#poll();
    });
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: LEADER_POLL_TIMEOUT_MS,
      keepAlive: true,
    });
    this.#client = client;
    client.on("error", () => undefined); // Its end follows.
    client.on("end", () => this.#ended(client));
    await client.connect();
    await client.query(GIVE_UP_THE_SILENT, [String(LEADER_SILENT_MS)]);
    return client;
  }

  /** Another process may lead from now on, so the process stops leading at once. */
  #ended(client: pg.Client): void {
    if (this.#client !== client || this.#work === undefined || this.#isClosed) return;
    this.#sureAtMs = Number.NEGATIVE_INFINITY;
    if (this.#timer === undefined) return; // A poll is under way.
    this.#timer.cancel();
    this.#timer = undefined;
    this.#polling = this.#poll();
  }

  async #takes(client: pg.Client): Promise<boolean> {
    const { environment, name } = this.#options;
    const { rows } = await client.query<{ taken: boolean }>("SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken", [
      `perdure ${environment} ${name}`,
    ]);
    return rows[0]?.taken === true;
  }

  async #resign(): Promise<void> {
    const work = this.#work;
    const client = this.#client;
    this.#work = undefined;
    this.#client = undefined;
    try {
      await work?.[Symbol.asyncDispose]();
    } catch (cause) {
      this.#ports.logger.error({ cause, leadership: this.#options.name }, "the work of the leader did not end cleanly");
    }
    const ended = client?.end().catch(() => undefined); // It may be broken already, which is as good.
    if (!this.#isAway) await ended; // A broken connection may never emit its end.
  }
}
