/**
 * Gives an environment a role of its own, which may only log in and use a schema of its own, because processes of an environment parse
 * untrusted data. Every step checks the present state, and each transaction leaves a state from which the next reconciliation continues.
 */
import type { Secret } from "@perdure/base";
import type pg from "pg";
import { assertClosed, closeToPublic, platformSchema } from "./closing.js";
import { hasSharedRows, moveSharedRows } from "./move.js";
import { environmentRole, environmentUrl, refused } from "./names.js";
import { scramVerifier } from "./scram.js";
import { inTransaction, literal, lockRoles, quoted, withSession } from "./session.js";

export interface EnvironmentDatabaseOptions {
  /** URL with a role that may create roles, and schemas in this database, and owns the platform's tables. */
  readonly platformUrl: Secret;
  readonly environmentId: string;
}

export interface PrepareOptions extends EnvironmentDatabaseOptions {
  /** The role's from now on: ASCII. */
  readonly password: Secret;
  /** Whether processes of the environment run: then no rows can be moved. */
  readonly isRunning: boolean;
}

/** `inUse`: nothing was done, because processes run that use rows in the platform's tables. */
export type PrepareOutcome = "prepared" | "inUse";

/**
 * Creates role and schema of an environment, or the missing one of them, and sets the password. Rejects with OPS0007 when the platform's
 * role or the state of the database does not allow that, META0010 when rows to be moved are of a newer version, STO0001 when the database
 * fails.
 */
export async function prepareEnvironmentDatabase(options: PrepareOptions, signal: AbortSignal): Promise<PrepareOutcome> {
  const { platformUrl, environmentId, isRunning } = options;
  environmentUrl(platformUrl, environmentId, options.password); // Throws when it is not a URL.
  return withSession(platformUrl, signal, async (client) => {
    const platform = await platformSchema(client);
    if (isRunning && (await hasSharedRows(client, platform, environmentId))) return "inUse";
    await inTransaction(client, () => ensureRole(client, platform, options));
    await inTransaction(client, () => ensureSchema(client, platform, environmentId));
    return "prepared";
  });
}

/**
 * The expected comment of a role that belongs to this database. Roles belong to the server, and another of its databases may have an
 * environment of this id.
 */
export async function roleComment(client: pg.Client, environmentId: string): Promise<string> {
  const { rows } = await client.query<{ name: string }>("SELECT current_database() AS name");
  return `Perdure: ${environmentId} in database ${rows[0]?.name}`;
}

/** Undefined when there is no such role. */
export async function commentOf(client: pg.Client, role: string): Promise<string | undefined> {
  const { rows } = await client.query<{ comment: string }>(
    "SELECT coalesce(shobj_description(oid, 'pg_authid'), '') AS comment FROM pg_roles WHERE rolname = $1",
    [role],
  );
  return rows[0]?.comment;
}

async function ensureRole(client: pg.Client, platform: string, options: PrepareOptions): Promise<void> {
  const { environmentId, password } = options;
  const role = environmentRole(environmentId);
  const verifier = literal(scramVerifier(password));
  await lockRoles(client);
  await closeToPublic(client, platform);
  const comment = await roleComment(client, environmentId);
  const before = await commentOf(client, role);
  if (before === undefined) {
    const attributes = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS";
    await client.query(`CREATE ROLE ${quoted(role)} ${attributes} PASSWORD ${verifier}`);
    await client.query(`COMMENT ON ROLE ${quoted(role)} IS ${literal(comment)}`);
  } else if (before !== comment) {
    throw refused(
      `role ${role} exists and its comment is not ${literal(comment)}; give it that comment if it belongs to this environment`,
    );
  } else {
    await client.query(`ALTER ROLE ${quoted(role)} LOGIN PASSWORD ${verifier}`);
  }
  const { rows } = await client.query<{ database: string; is_member: boolean }>(
    "SELECT quote_ident(current_database()) AS database, pg_has_role(current_user, $1::name, 'USAGE') AS is_member",
    [role],
  );
  // Only members of a role, and superusers, give it a schema and take its own away.
  if (rows[0]?.is_member !== true) await client.query(`GRANT ${quoted(role)} TO CURRENT_USER`);
  const database = rows[0]?.database;
  await client.query(`GRANT CONNECT ON DATABASE ${database} TO ${quoted(role)}`);
  await client.query(`ALTER ROLE ${quoted(role)} IN DATABASE ${database} SET search_path TO ${quoted(role)}`);
}

async function ensureSchema(client: pg.Client, platform: string, environmentId: string): Promise<void> {
  const role = environmentRole(environmentId);
  // Two operators may run, one of which has not noticed that it no longer leads.
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [role]);
  const { rows } = await client.query<{ owner: string; is_ours: boolean }>(
    "SELECT pg_get_userbyid(nspowner) AS owner, nspowner = current_user::regrole AS is_ours FROM pg_namespace WHERE nspname = $1",
    [role],
  );
  const [before] = rows;
  const isShared = await hasSharedRows(client, platform, environmentId);
  if (before !== undefined && isShared)
    throw refused(`there are rows of ${environmentId} in schema ${role} and in ${platform}; delete those that are not needed`);
  if (before === undefined) {
    await client.query(`CREATE SCHEMA ${quoted(role)}`);
    if (isShared) await moveSharedRows(client, platform, role, environmentId);
  } else if (before.owner !== role && !before.is_ours) {
    throw refused(`schema ${role} belongs to role ${before.owner}`);
  }
  // Also one that was restored from a dump without the owners of its tables.
  if (before?.owner !== role) await handOver(client, role);
  await assertClosed(client, role, platform);
}

/** Gives the schema of that name, and all that is in it, to the role of that name. */
async function handOver(client: pg.Client, role: string): Promise<void> {
  await client.query(`ALTER SCHEMA ${quoted(role)} OWNER TO ${quoted(role)}`);
  const { rows } = await client.query<{ what: string }>(
    "SELECT 'TABLE ' || oid::regclass AS what FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p', 'v', 'm') " +
      "UNION ALL SELECT 'ROUTINE ' || oid::regprocedure FROM pg_proc WHERE pronamespace = $1::regnamespace",
    [quoted(role)],
  );
  for (const { what } of rows) await client.query(`ALTER ${what} OWNER TO ${quoted(role)}`);
}
