/**
 * The database of tenancy: tables to read, transactions to change them, and news of what any process committed. Every change and its
 * line in the audit log are one transaction.
 */
import type { Logger, OperationObserver } from "@perdure/base";
import type { TenancyNews } from "@perdure/cloud";
import pg from "pg";
import { failure } from "../failure.js";
import { CONNECT_TIMEOUT_MS, STATEMENT_TIMEOUT_MS, TENANCY_CONNECTIONS_MAX, TRANSACTION_TRIES_MAX } from "../limits.js";
import { Listener } from "../listener.js";
import { migrateDatabase } from "../metadata-store.js";
import { clientOption } from "../observed-client.js";
import { Accounts } from "./accounts.js";
import { addColumns } from "./added-columns.js";
import { ApiKeys } from "./api-keys.js";
import { Attempts } from "./attempts.js";
import { Audit } from "./audit.js";
import { DeviceCodes } from "./device-codes.js";
import { Environments } from "./environments.js";
import { Gateways } from "./gateways.js";
import { Invitations } from "./invitations.js";
import { Logins } from "./logins.js";
import { Mails } from "./mails.js";
import { NEWS_CHANNEL, Session } from "./session.js";
import { SigningKeys } from "./signing-keys.js";
import { TokenKeys } from "./token-keys.js";
import { Tunnels } from "./tunnels.js";
import { Usage } from "./usage.js";
import { Users } from "./users.js";

/** Everything rejects with STO0001 when the database fails. */
export class TenancyTables {
  /** For tables that are not of this package. */
  readonly session: Session;
  readonly users: Users;
  readonly accounts: Accounts;
  readonly invitations: Invitations;
  readonly environments: Environments;
  readonly signingKeys: SigningKeys;
  readonly apiKeys: ApiKeys;
  readonly tokenKeys: TokenKeys;
  readonly usage: Usage;
  readonly tunnels: Tunnels;
  readonly gateways: Gateways;
  readonly audit: Audit;
  readonly logins: Logins;
  readonly deviceCodes: DeviceCodes;
  readonly attempts: Attempts;
  readonly mails: Mails;

  constructor(session: Session) {
    this.session = session;
    this.users = new Users(session);
    this.accounts = new Accounts(session);
    this.invitations = new Invitations(session);
    this.environments = new Environments(session);
    this.signingKeys = new SigningKeys(session);
    this.apiKeys = new ApiKeys(session);
    this.tokenKeys = new TokenKeys(session);
    this.usage = new Usage(session);
    this.tunnels = new Tunnels(session);
    this.gateways = new Gateways(session);
    this.audit = new Audit(session);
    this.logins = new Logins(session);
    this.deviceCodes = new DeviceCodes(session);
    this.attempts = new Attempts(session);
    this.mails = new Mails(session);
  }
}

export interface TenancyDatabase extends AsyncDisposable {
  /** Each question by itself. */
  readonly tables: TenancyTables;
  /** One transaction: all or, when `work` throws, nothing. Run again after a deadlock, so `work` has no other effects. */
  change<T>(work: (tables: TenancyTables) => Promise<T>): Promise<T>;
  /** Calls back after commits of any process; `everything` after each gap. Returns how to stop. */
  onNews(listener: (news: TenancyNews) => void): () => void;
}

/** The tables of all programs, and what is tenancy's alone. Rejects with META0010 when the database is newer than this version, STO0001 when it fails. */
export const migrateTenancyDatabase = (url: string, logger: Logger): Promise<void> => migrateDatabase(url, logger, addColumns);

/** Migrates first. Rejects with META0010 when the database is newer than this version, STO0001 when it cannot be reached. */
export async function openTenancyDatabase(url: string, logger: Logger, observer?: OperationObserver): Promise<TenancyDatabase> {
  await migrateTenancyDatabase(url, logger);
  const pool = new pg.Pool({
    connectionString: url,
    max: TENANCY_CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    types: { getTypeParser: parserOf },
    ...clientOption(observer),
  });
  pool.on("error", (error) => logger.warn({ error: error.message }, "a database connection broke"));
  return new Database(pool, new Listener(url, NEWS_CHANNEL, logger));
}

class Database implements TenancyDatabase {
  readonly tables: TenancyTables;
  readonly #pool: pg.Pool;
  readonly #listener: Listener;
  #isOpen = true;

  constructor(pool: pg.Pool, listener: Listener) {
    this.#pool = pool;
    this.#listener = listener;
    this.tables = new TenancyTables(new Session(pool));
  }

  async change<T>(work: (tables: TenancyTables) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transaction(work);
      } catch (cause) {
        if (tries >= TRANSACTION_TRIES_MAX || !isDeadlock(cause)) throw cause;
      }
    }
  }

  onNews(listener: (news: TenancyNews) => void): () => void {
    return this.#listener.onNews((news) =>
      listener(news === undefined ? { kind: "everything" } : (JSON.parse(news) as TenancyNews)),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#listener.close();
    await this.#pool.end();
  }

  async #transaction<T>(work: (tables: TenancyTables) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((cause: unknown) => {
      throw failure(cause);
    });
    let broken: Error | undefined;
    try {
      await client.query("BEGIN");
      try {
        const result = await work(new TenancyTables(new Session(client)));
        await client.query("COMMIT");
        return result;
      } catch (cause) {
        await client.query("ROLLBACK").catch((error: Error) => {
          broken = error; // The connection is lost, and the transaction with it.
        });
        throw cause;
      }
    } catch (cause) {
      throw isDatabaseError(cause) ? failure(cause) : cause;
    } finally {
      client.release(broken);
    }
  }
}

/** Milliseconds and counts are safe integers. */
function parserOf(oid: number, format?: "text" | "binary"): (text: string) => unknown {
  return oid === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(oid, format as "text") as (text: string) => unknown);
}

const DEADLOCK = "40P01";

function isDeadlock(cause: unknown): boolean {
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
  return (inner as { readonly code?: string } | undefined)?.code === DEADLOCK;
}

/** BEGIN and COMMIT fail in pg's words. */
function isDatabaseError(cause: unknown): boolean {
  return (
    cause instanceof pg.DatabaseError || (cause instanceof Error && /connection/i.test(cause.message) && cause.name === "Error")
  );
}
