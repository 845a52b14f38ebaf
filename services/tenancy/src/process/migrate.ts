/**
 * Migrates the database once per release, before its programs start, with a visible end. The programs would do it themselves as well;
 * only one at a time does.
 */
import { required } from "@perdure/cluster-kit";
import { migrateTenancyDatabase } from "@perdure/postgres";
import { runTask, type TaskSpec } from "@perdure/process-kit";
import { loadSettings, settings } from "./config.js";

const spec: TaskSpec<typeof settings> = {
  program: "perdure tenancy migrate",
  service: "tenancy",
  schema: settings,
  load: loadSettings,
  run: async ({ metadata }, { logger }) => {
    await migrateTenancyDatabase(required("metadata.postgres-url", metadata.postgresUrl).reveal(), logger);
    logger.info({}, "the database is up to date");
  },
};

/** `perdure tenancy migrate`, with the settings of the program. Resolves with the exit code. */
export const runMigrate = (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> =>
  runTask(spec, args, environment);
