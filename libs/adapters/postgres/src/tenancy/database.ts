/**
 * The database of tenancy: tables to read, transactions to change them, and change events of all processes. Every change and its line in
 * the audit log are one transaction.
 */
import { causeCode, type Logger, type OperationObserver } from "@perdure/base";
import type { TenancyChange } from "@perdure/cloud";
import pg from "pg";
import { failure } from "../failure.js";
import { CONNECT_TIMEOUT_MS, STATEMENT_TIMEOUT_MS, TENANCY_CONNECTIONS_MAX, TRANSACTION_TRIES_MAX } from "../limits.js";
import { NotificationListener } from "../listener.js";
import { migrateDatabase } from "../metadata-store.js";
import { clientOption } from "../observed-client.js";
import { AccountsTable } from "./accounts.js";
import { addColumns } from "./added-columns.js";
import { ApiKeysTable } from "./api-keys.js";
import { AttemptsTable } from "./attempts.js";
import { AuditTable } from "./audit.js";
import { parseChange } from "./change.js";
import { DeviceCodesTable } from "./device-codes.js";
import { EnvironmentsTable } from "./environments.js";
import { GatewaysTable } from "./gateways.js";
import { InvitationsTable } from "./invitations.js";
import { LoginsTable } from "./logins.js";
import { MailsTable } from "./mails.js";
import { CHANGES_CHANNEL, SqlSession } from "./session.js";
import { SigningKeysTable } from "./signing-keys.js";
import { TokenKeysTable } from "./token-keys.js";
import { TunnelsTable } from "./tunnels.js";
import { UsageTable } from "./usage.js";
import { UsersTable } from "./users.js";

/** Everything rejects with STO0001 when the database fails. */
export class TenancyTables {
  /** Runs statements on tables that do not belong to this package. */
  readonly session: SqlSession;
  readonly users: UsersTable;
  readonly accounts: AccountsTable;
  readonly invitations: InvitationsTable;
  readonly environments: EnvironmentsTable;
  readonly signingKeys: SigningKeysTable;
  readonly apiKeys: ApiKeysTable;
  readonly tokenKeys: TokenKeysTable;
  readonly usage: UsageTable;
  readonly tunnels: TunnelsTable;
  readonly gateways: GatewaysTable;
  readonly audit: AuditTable;
  readonly logins: LoginsTable;
  readonly deviceCodes: DeviceCodesTable;
  readonly attempts: AttemptsTable;
  readonly mails: MailsTable;

  constructor(session: SqlSession) {
    this.session = session;
    this.users = new UsersTable(session);
    this.accounts = new AccountsTable(session);
    this.invitations = new InvitationsTable(session);
    this.environments = new EnvironmentsTable(session);
    this.signingKeys = new SigningKeysTable(session);
    this.apiKeys = new ApiKeysTable(session);
    this.tokenKeys = new TokenKeysTable(session);
    this.usage = new UsageTable(session);
    this.tunnels = new TunnelsTable(session);
    this.gateways = new GatewaysTable(session);
    this.audit = new AuditTable(session);
    this.logins = new LoginsTable(session);
    this.deviceCodes = new DeviceCodesTable(session);
    this.attempts = new AttemptsTable(session);
    this.mails = new MailsTable(session);
  }
}

export interface TenancyDatabase extends AsyncDisposable {
  /** Each question by itself. */
  readonly tables: TenancyTables;
  /** One transaction: all or, when `work` throws, nothing. Run again after a deadlock, so `work` has no other effects. */
  change<T>(work: (tables: TenancyTables) => Promise<T>): Promise<T>;
  /** Calls back after commits of any process; `everything` after each gap. Returns how to stop. */
  onChange(listener: (event: TenancyChange) => void): () => void;
}

/**
 * Migrates the tables of all programs and the added columns of tenancy. Rejects with META0010 when the database is newer than this version,
 * STO0001 when it fails.
 */
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
  return new PostgresTenancyDatabase(pool, new NotificationListener(url, CHANGES_CHANNEL, logger));
}

class PostgresTenancyDatabase implements TenancyDatabase {
  readonly tables: TenancyTables;
  readonly #pool: pg.Pool;
  readonly #listener: NotificationListener;
  #isOpen = true;

  constructor(pool: pg.Pool, listener: NotificationListener) {
    this.#pool = pool;
    this.#listener = listener;
    this.tables = new TenancyTables(new SqlSession(pool));
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

  onChange(listener: (event: TenancyChange) => void): () => void {
    return this.#listener.onNotification((payload) =>
      listener(payload === undefined ? { kind: "everything" } : parseChange(payload)),
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
        const result = await work(new TenancyTables(new SqlSession(client)));
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
  return causeCode(inner) === DEADLOCK;
}

/** BEGIN and COMMIT fail in pg's words. */
function isDatabaseError(cause: unknown): boolean {
  return (
    cause instanceof pg.DatabaseError || (cause instanceof Error && /connection/i.test(cause.message) && cause.name === "Error")
  );
}
