/** The command `perdure worker accept-data-loss <mark>`: see `acceptLoss`. */
import { PerdureError, systemRandom } from "@perdure/base";
import { redisOptionsOf, required } from "@perdure/cluster-kit";
import { runTask, type TaskSpec } from "@perdure/process-kit";
import { connectRedis } from "@perdure/redis";
import { acceptLoss } from "../data-set/accept-loss.js";
import { DeferredMetadata } from "../data-set/deferred-metadata.js";
import { markedPartitions } from "../data-set/marked-partitions.js";
import { loadSettings, settings } from "./config.js";

export const ACCEPT_DATA_LOSS = "accept-data-loss";

function specFor(lost: string): TaskSpec<typeof settings> {
  return {
    program: `perdure worker ${ACCEPT_DATA_LOSS}`,
    service: "invoker-worker",
    schema: settings,
    load: loadSettings,
    advice: {
      STO0005: "Bring the data back, or give the mark of the data set that is lost, as workers log it.",
      OPS0001: "Give the mark that workers log with STO0005, and the settings of a worker (PERDURE_… or --config-file).",
    },
    run: async ({ redis: redisSettings, metadata: { postgresUrl }, environmentName: environment }, { clock, logger }) => {
      if (!/^[0-9A-Za-z]+$/.test(lost))
        throw new PerdureError("OPS0001", `'${lost}' is not a mark of a data set: perdure-worker ${ACCEPT_DATA_LOSS} <mark>`);
      const url = required("metadata.postgres-url", postgresUrl).reveal();
      await using redis = await connectRedis(redisOptionsOf(redisSettings, "perdure-worker"), { clock, logger });
      await using metadata = new DeferredMetadata({ url, environment }, logger);
      const ports = { metadata, partitions: markedPartitions(redis, environment), clock, random: systemRandom, logger };
      const { kind, mark } = await acceptLoss(ports, lost);
      const message = kind === "accepted" ? "workers lead the partitions again within seconds" : "this loss was accepted before";
      logger.info({ lost, mark }, message);
    },
  };
}

/** Uses the settings of the program, given behind the mark. Resolves with the exit code. */
export function runAcceptDataLoss([lost = "", ...args]: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return runTask(specFor(lost), args, environment);
}
