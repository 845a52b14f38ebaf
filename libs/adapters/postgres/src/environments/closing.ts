/**
 * Revokes rights of PUBLIC before an environment gets a role: by default PostgreSQL allows every role into a database and its schema
 * `public`. Roles that existed before get these rights by name and so keep them; roles of environments get none.
 */
import type pg from "pg";
import { ROLE_PATTERN, refused } from "./names.js";
import { literal } from "./session.js";

const PUBLIC = 0;

/** Schema of the platform's tables, or the one in which they would be made. */
export async function platformSchema(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ schema: string | null }>(
    "SELECT coalesce((SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass('perdure_migrations')), " +
      "quote_ident(current_schema())) AS schema",
  );
  const schema = rows[0]?.schema;
  if (typeof schema !== "string") throw refused("the platform's role has no schema to make tables in");
  return schema;
}

/** Changes nothing when PUBLIC has no privileges any more. Where the platform's role may not take them away, `assertClosed` finds out what that means. */
export async function closeToPublic(client: pg.Client, platform: string): Promise<void> {
  const { rows } = await client.query<{ database: string; is_open: boolean }>(
    "SELECT quote_ident(datname) AS database, EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) " +
      `WHERE grantee = ${PUBLIC}) AS is_open FROM pg_database WHERE datname = current_database()`,
  );
  const [database] = rows;
  if (database?.is_open === true) {
    const roles = await platformRoleNames(client);
    await client.query(`GRANT CONNECT, TEMPORARY ON DATABASE ${database.database} TO ${roles}`);
    await client.query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${database.database} FROM PUBLIC`);
  }
  const { rows: schemas } = await client.query<{ schema: string; privileges: string }>(
    "SELECT quote_ident(nspname) AS schema, string_agg(DISTINCT acl.privilege_type, ', ') AS privileges FROM pg_namespace, " +
      "aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS acl " +
      `WHERE acl.grantee = ${PUBLIC} AND (quote_ident(nspname) = $1 OR nspname = 'public') GROUP BY nspname`,
    [platform],
  );
  for (const { schema, privileges } of schemas) {
    await client.query(`GRANT ${privileges} ON SCHEMA ${schema} TO ${await platformRoleNames(client)}`);
    await client.query(`REVOKE ALL ON SCHEMA ${schema} FROM PUBLIC`);
  }
}

/** Ourselves, and all that log in and are not roles of environments. */
async function platformRoleNames(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ roles: string }>(
    "SELECT string_agg(quote_ident(rolname), ', ') AS roles FROM pg_roles " +
      "WHERE rolname = current_user OR (rolcanlogin AND NOT rolsuper AND rolname NOT LIKE $1)",
    [ROLE_PATTERN],
  );
  return rows[0]?.roles ?? "CURRENT_USER";
}

/** Throws OPS0007 when a role of an environment has more rights than that: it could read data of the platform or of other environments. */
export async function assertClosed(client: pg.Client, role: string, platform: string): Promise<void> {
  const { rows: attributes } = await client.query<{ what: string }>(
    "SELECT CASE WHEN rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls THEN 'has attributes beyond LOGIN' " +
      "ELSE 'is a member of another role' END AS what FROM pg_roles WHERE rolname = $1::name AND (rolsuper OR rolcreaterole OR rolcreatedb " +
      "OR rolreplication OR rolbypassrls OR EXISTS (SELECT FROM pg_auth_members WHERE member = pg_roles.oid))",
    [role],
  );
  const [attribute] = attributes;
  if (attribute !== undefined) throw refused(`role ${role} ${attribute.what}`);
  // Objects that it could create there, e.g. a function with a name of PostgreSQL's own, would run with the platform's rights.
  const { rows: creating } = await client.query<{ where: string | null }>(
    "SELECT CASE WHEN has_schema_privilege($1::name, $2::regnamespace::oid, 'CREATE') THEN 'schema ' || $2 " +
      "WHEN has_database_privilege($1::name, current_database(), 'CREATE, TEMPORARY') THEN 'the database' END AS where",
    [role, platform],
  );
  const where = creating[0]?.where ?? undefined;
  if (where !== undefined)
    throw refused(`role ${role} can create objects in ${where}: as the owner, revoke that from it and from PUBLIC`);
  // Schemas of environments are left out: grants within one environment must not stop others.
  const { rows: open } = await client.query<{ name: string }>(
    "SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace " +
      "WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relname LIKE 'perdure\\_%' AND has_schema_privilege($1::name, n.oid, 'USAGE') " +
      `AND (quote_ident(n.nspname) = $2 OR pg_get_userbyid(n.nspowner) NOT LIKE ${literal(ROLE_PATTERN)}) AND n.nspname <> $1::name ` +
      "AND (has_any_column_privilege($1::name, c.oid, 'SELECT, INSERT, UPDATE') OR has_table_privilege($1::name, c.oid, 'DELETE, TRUNCATE, TRIGGER')) " +
      "ORDER BY 1 LIMIT 1",
    [role, platform],
  );
  const [table] = open;
  if (table !== undefined)
    throw refused(`every role can use ${table.name}: as its owner, revoke what PUBLIC may do with it and with its schema`);
}
