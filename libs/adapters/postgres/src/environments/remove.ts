/**
 * Deletes role, schema and rows of an environment with its data; each step can be repeated after a crash, and continues from the present
 * state.
 */

import { Secret } from "@perdure/base";
import { platformSchema } from "./closing.js";
import { deleteSharedRows } from "./move.js";
import { environmentRole, environmentUrl } from "./names.js";
import { commentOf, type EnvironmentDatabaseOptions, roleComment } from "./prepare.js";
import { inTransaction, lockRoles, quoted, withSession } from "./session.js";

/** Resolves also when there is nothing. Rejects as `prepareEnvironmentDatabase` does. */
export async function removeEnvironmentDatabase(options: EnvironmentDatabaseOptions, signal: AbortSignal): Promise<void> {
  const { platformUrl, environmentId } = options;
  const role = environmentRole(environmentId);
  environmentUrl(platformUrl, environmentId, new Secret("")); // Throws when it is not a URL.
  await withSession(platformUrl, signal, async (client) => {
    const platform = await platformSchema(client);
    const isOurs = (await commentOf(client, role)) === (await roleComment(client, environmentId));
    if (isOurs) {
      // No new logins; open sessions would hold locks.
      await client.query(`ALTER ROLE ${quoted(role)} NOLOGIN`);
      await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [role]);
    }
    await inTransaction(client, () => deleteSharedRows(client, platform, environmentId));
    if (!isOurs) return;
    await inTransaction(client, async () => {
      await lockRoles(client);
      await client.query(`DROP SCHEMA IF EXISTS ${quoted(role)} CASCADE`);
      await client.query(`DROP OWNED BY ${quoted(role)}`);
      await client.query(`DROP ROLE ${quoted(role)}`);
    });
  });
}
