/** A connection for changes of roles, which are rare: one connection per change, with transactions that leave nothing half done. */
import { causeCode, causeMessage, PerdureError, type Secret } from "@perdure/base";
import pg from "pg";
import { failure } from "../failure.js";
import { CONNECT_TIMEOUT_MS, QUERY_TIMEOUT_MS, ROLE_LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from "../limits.js";
import { refused } from "./names.js";

/** SQLSTATE of the server: class and number. */
const INSUFFICIENT_PRIVILEGE = "42501";
const OBJECTS_DEPEND = "2BP01";

/** Rejects with OPS0007 what the server does not allow, with STO0001 everything else. When the signal fires the connection is cut. */
export async function withSession<T>(url: Secret, signal: AbortSignal, work: (client: pg.Client) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const client = new pg.Client({
    connectionString: url.reveal(),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    lock_timeout: ROLE_LOCK_TIMEOUT_MS,
    application_name: "perdure-environment-roles",
    keepAlive: true,
  });
  client.on("error", () => undefined); // Its statement rejects with that.
  const cut = (): void => void client.end().catch(() => undefined);
  signal.addEventListener("abort", cut, { once: true });
  try {
    await client.connect();
    return await work(client);
  } catch (cause) {
    signal.throwIfAborted();
    throw named(cause);
  } finally {
    signal.removeEventListener("abort", cut);
    await client.end().catch(() => undefined); // It may be broken already, which is as good.
  }
}

/** All that `work` does, or nothing. */
export async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query("BEGIN");
  try {
    const result = await work();
    await client.query("COMMIT");
    return result;
  } catch (cause) {
    await client.query("ROLLBACK").catch(() => undefined); // A connection that is cut rolls back by itself.
    throw cause;
  }
}

/** Roles, and what all of them may do, are changed by one at a time: the server refuses concurrent changes of one row of its catalogue. */
export async function lockRoles(client: pg.Client): Promise<void> {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended('perdure environment roles', 0))");
}

export const quoted = pg.escapeIdentifier;
export const literal = pg.escapeLiteral;

function named(cause: unknown): PerdureError {
  if (cause instanceof PerdureError) return cause;
  const [code, message] = [causeCode(cause), causeMessage(cause)];
  if (code === INSUFFICIENT_PRIVILEGE) return refused(`the database does not allow it: ${message}`, cause);
  const detail = typeof cause === "object" && cause !== null && "detail" in cause ? cause.detail : undefined;
  if (code === OBJECTS_DEPEND) return refused(`${message}: ${typeof detail === "string" ? detail : ""}`, cause);
  return failure(cause);
}
