/**
 * One connection to Redis or its cluster: sends commands and returns their replies. Commands are not queued while there is no connection,
 * and never sent twice: the layer above decides what may be repeated. All jobs of one turn of the event loop leave in one write.
 */
import { backoffMs, invariant, type Logger, PerdureError, present } from "@perdure/base";
import { type ChainableCommander, type RedisOptions as ClientOptions, Cluster, type ClusterOptions, Redis } from "ioredis";
import { SocketConnector, type SocketTls } from "./connector.js";
import { Folding, type RedisRequest, sizeOf } from "./folding.js";
import {
  CLOSE_MS_MAX,
  CONNECT_MS_MAX,
  KEEP_ALIVE_MS,
  QUEUED_BYTES_MAX,
  QUEUED_JOBS_MAX,
  REDIRECTIONS_MAX,
  REPLICA_WAIT_MS,
  RETRY_BOUNDS,
  SILENCE_MS_MAX,
} from "./limits.js";
import type { RedisConnectionOptions } from "./options.js";

/** Name and arguments. All keys of a job's commands are in one slot. */
export type RedisCommand = readonly [name: string, ...args: (string | Buffer | number)[]];
/** Text comes as bytes. An error is either the server's reply to this command, or means that the outcome is unknown. */
export type CommandReply = Buffer | string | number | null | Error | readonly CommandReply[];

/** The connection was down or broke: whether the commands were executed is unknown. */
export class LinkDown extends Error {}

interface LinkJob {
  readonly requests: readonly RedisRequest[];
  /** Scripts with their text. */
  readonly withText: boolean;
  readonly replicated: boolean;
  readonly bytes: number;
  readonly resolve: (replies: readonly CommandReply[]) => void;
}

export class RedisLink implements AsyncDisposable {
  readonly #client: Redis | Cluster;
  readonly #replicas: number;
  #jobs: LinkJob[] = [];
  #jobCount = 0;
  #bytes = 0;
  #scheduled = false;
  /** The reason why there is no connection, for the errors of requests. */
  #lastError: Error | undefined;

  constructor(options: RedisConnectionOptions, role: string, logger: Logger) {
    this.#replicas = options.replicas ?? 0;
    this.#client = connect(options, role);
    let silentUntil = 0;
    this.#client.on("ready", () => {
      this.#lastError = undefined;
    });
    this.#client.on("error", (cause: Error) => {
      this.#lastError = cause;
      // While the server is down every attempt to connect fails; one log line a second is enough.
      if (performance.now() < silentUntil) return;
      silentUntil = performance.now() + 1_000;
      logger.warn({ role, error: cause.message }, "the connection to Redis failed");
    });
  }

  get isUp(): boolean {
    return this.#client.status === "ready";
  }

  /**
   * Sends the requests in their order, together. With `replicated` one more reply follows: the number of replicas that have the writes of
   * this connection. Rejects with STO0001 when too much is under way already.
   */
  send(requests: readonly RedisRequest[], withText: boolean, replicated: boolean): Promise<readonly CommandReply[]> {
    let bytes = 0;
    for (const request of requests) bytes += sizeOf("script" in request ? request.args : request);
    if (this.#jobCount >= QUEUED_JOBS_MAX || this.#bytes + bytes > QUEUED_BYTES_MAX)
      return Promise.reject(new PerdureError("STO0001", "too many requests are waiting for Redis"));
    this.#jobCount++;
    this.#bytes += bytes;
    return new Promise((resolve) => {
      this.#jobs.push({ requests, withText, replicated: replicated && this.#replicas > 0, bytes, resolve });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    });
  }

  #done(job: LinkJob, replies: readonly CommandReply[]): void {
    this.#jobCount--;
    this.#bytes -= job.bytes;
    job.resolve(replies);
  }

  #flush(): void {
    this.#scheduled = false;
    const jobs = this.#jobs;
    this.#jobs = [];
    if (!this.isUp) {
      const why = this.#lastError === undefined ? "" : `: ${this.#lastError.message}`;
      const down = new LinkDown(`there is no connection to Redis${why}`, { cause: this.#lastError });
      for (const job of jobs)
        this.#done(
          job,
          job.requests.map(() => down),
        );
      return;
    }
    if (this.#client instanceof Redis) return this.#exchange(jobs, this.#client);
    for (const job of jobs) this.#exchange([job], undefined); // Each to the node of its slot.
  }

  /** One write, and one `WAIT` for all jobs that require it. `single`: the connection, when all commands go over one. */
  #exchange(jobs: readonly LinkJob[], single: Redis | undefined): void {
    const folding = new Folding(single !== undefined);
    let replicated = false;
    for (const { requests, withText, replicated: needsReplicas } of jobs) {
      for (let n = 0; n < requests.length; n++) folding.add(present(requests[n]), withText, n === 0);
      replicated ||= needsReplicas;
    }
    const commands = folding.commands();
    const [only] = commands;
    // Mostly there is one command, the folded commits of one turn. A pipeline would cost more than sending it.
    if (single !== undefined && commands.length === 1 && only !== undefined && !replicated) {
      const [name, ...args] = only;
      single.callBuffer(name, ...args).then(
        (reply) => this.#hand(jobs, folding, [reply as CommandReply]),
        (cause: Error) => this.#hand(jobs, folding, [errorOf(cause)]),
      );
      return;
    }
    const pipeline: ChainableCommander = this.#client.pipeline();
    for (const [name, ...args] of commands) pipeline.callBuffer(name, ...args);
    if (replicated) pipeline.callBuffer("WAIT", this.#replicas, REPLICA_WAIT_MS);
    pipeline.exec().then(
      (results) => {
        invariant(results !== null, "a pipeline that is not a transaction has results");
        const replies = results.map(([error, value]) => (error === null ? (value as CommandReply) : errorOf(error)));
        this.#hand(jobs, folding, replies);
      },
      (cause: Error) => {
        const down = new LinkDown(cause.message, { cause });
        this.#hand(jobs, folding, new Array<CommandReply>(commands.length + 1).fill(down));
      },
    );
  }

  /** `replies`: one per command, then the one of `WAIT`. */
  #hand(jobs: readonly LinkJob[], folding: Folding, replies: readonly CommandReply[]): void {
    let at = 0;
    for (const job of jobs) {
      const own: CommandReply[] = [];
      for (let left = job.requests.length; left > 0; left--) own.push(folding.replyTo(at++, replies));
      if (job.replicated) own.push(present(replies[folding.commandCount]));
      this.#done(job, own);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = this.#client;
    const isOpen = client.status === "ready" || client.status === "connect" || client.status === "connecting";
    client.disconnect();
    // Between two attempts to connect there is nothing to close, and no event would follow.
    if (isOpen && this.#statusOf() !== "end") {
      await new Promise<void>((resolve) => {
        const enough = setTimeout(resolve, CLOSE_MS_MAX);
        client.once("end", () => {
          clearTimeout(enough);
          resolve();
        });
      });
    }
  }

  #statusOf(): string {
    return this.#client.status;
  }
}

/** Distinguishes an error reply of the server from an error that leaves the outcome unknown. */
function errorOf(error: Error): Error {
  return error.name === "ReplyError" ? error : new LinkDown(error.message, { cause: error });
}

/** The primary became a replica: its name may lead to the new one by now. */
function isDemoted(cause: Error): boolean {
  return cause.message.startsWith("READONLY");
}

function connect(options: RedisConnectionOptions, role: string): Redis | Cluster {
  const { nodes, database, username, password, tls, caFile, random } = options;
  const retryAfterMs = (attempts: number): number => backoffMs(attempts, RETRY_BOUNDS, random);
  const ofConnector: SocketTls = { ...tls, ...(caFile === undefined ? {} : { caFile }) };
  const client: ClientOptions = {
    connectTimeout: CONNECT_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    Connector: SocketConnector,
    keepAlive: KEEP_ALIVE_MS,
    // Commands that were sent on a broken connection fail at once; nothing is resent or queued for later.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    connectionName: `${options.name ?? "perdure"}-${role}`,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: password.reveal() }),
    ...(tls === undefined ? {} : { tls: ofConnector }),
  };
  if (options.cluster !== true) {
    const [{ host, port }] = nodes;
    return new Redis({ ...client, host, port, db: database ?? 0, retryStrategy: retryAfterMs, reconnectOnError: isDemoted });
  }
  if (database !== undefined && database !== 0)
    throw new PerdureError("OPS0001", "a Redis Cluster has no databases but number 0");
  const { enableOfflineQueue: _, ...redisOptions } = client;
  const cluster: ClusterOptions = {
    redisOptions,
    enableOfflineQueue: false,
    maxRedirections: REDIRECTIONS_MAX,
    clusterRetryStrategy: retryAfterMs,
    slotsRefreshTimeout: CONNECT_MS_MAX,
    scaleReads: "master",
  };
  return new Cluster([...nodes], cluster);
}
