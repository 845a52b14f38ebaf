/** Receives the notifications of committed writers (LISTEN/NOTIFY), over a connection of its own that is opened again when it breaks. */
import { Backoff, causeMessage, type Logger, type Random } from "@perdure/base";
import pg from "pg";
import {
  CONNECT_TIMEOUT_MS,
  LISTEN_AGAIN_FIRST_MS,
  LISTEN_AGAIN_LONGEST_MS,
  LISTEN_CHECK_MS,
  LISTEN_CHECK_TIMEOUT_MS,
} from "./limits.js";

export class NotificationListener {
  readonly #url: string;
  readonly #channel: string;
  readonly #logger: Logger;
  readonly #listeners = new Set<(payload: string | undefined) => void>();
  readonly #backoff: Backoff;
  #client: pg.Client | undefined;
  #again: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(url: string, channel: string, logger: Logger, random?: Random) {
    this.#url = url;
    this.#channel = channel;
    this.#logger = logger;
    this.#backoff = new Backoff({ firstMs: LISTEN_AGAIN_FIRST_MS, longestMs: LISTEN_AGAIN_LONGEST_MS }, random);
  }

  /**
   * `undefined` means that notifications may have been missed. Listening begins with the first caller. Returns a function that removes the
   * listener.
   */
  onNotification(listener: (payload: string | undefined) => void): () => void {
    this.#listeners.add(listener);
    if (this.#client === undefined && this.#again === undefined) this.#listen();
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    clearTimeout(this.#checkTimer);
    await this.#client?.end().catch(() => undefined); // It may be broken already, which is as good.
  }

  #listen(): void {
    if (this.#isClosed) return;
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: LISTEN_CHECK_TIMEOUT_MS,
      keepAlive: true,
    });
    this.#client = client;
    client.on("notification", ({ payload }) => this.#notify(payload ?? ""));
    client.on("error", (error) => this.#lost(client, error.message));
    client.on("end", () => this.#lost(client, "the database closed the connection"));
    client
      .connect()
      .then(() => client.query(`LISTEN ${this.#channel}`))
      .then(
        () => {
          this.#backoff.reset();
          this.#notify(undefined);
          this.#scheduleCheck(client);
        },
        (cause: unknown) => this.#lost(client, causeMessage(cause)),
      );
  }

  /** Schedules a check of the connection, because on a cut network a connection receives no event, not even its end. */
  #scheduleCheck(client: pg.Client): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#checkTimer = setTimeout(() => {
      client.query("SELECT 1").then(
        () => this.#scheduleCheck(client),
        (cause: unknown) => this.#lost(client, causeMessage(cause)),
      );
    }, LISTEN_CHECK_MS);
  }

  #lost(client: pg.Client, reason: string): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = undefined;
    clearTimeout(this.#checkTimer);
    client.end().catch(() => undefined); // It is broken, so its error adds nothing.
    const pauseMs = this.#backoff.next();
    this.#logger.warn({ reason, pauseMs }, "lost the connection for database notifications; reconnecting");
    this.#again = setTimeout(() => {
      this.#again = undefined;
      this.#listen();
    }, pauseMs);
  }

  #notify(payload: string | undefined): void {
    for (const listener of this.#listeners) listener(payload);
  }
}
