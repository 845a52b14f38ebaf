/** Events about the environment of a cluster: published by the leader among the registries, from what the workers report. */
import type { Workers } from "@perdure/cluster-kit";
import { createEnvironmentEvents } from "@perdure/environment-events";
import { PostgresLeadership, type PostgresMetadataStore } from "@perdure/postgres";
import { eventOptionsOf, type ProcessPorts } from "@perdure/process-kit";
import type { RegistryRole } from "../registry.js";
import type { RegistrySettings } from "./config.js";

interface EventParts {
  readonly settings: RegistrySettings;
  readonly database: Omit<ConstructorParameters<typeof PostgresLeadership>[0], "name">;
  readonly store: PostgresMetadataStore;
  readonly registry: RegistryRole;
  readonly workers: Workers;
}

/** Competes for the leadership until it is disposed of. */
export function leadEnvironmentEvents(
  { settings, database, store: metadata, registry, workers: { partitions, rows, directory } }: EventParts,
  { clock, logger: root }: ProcessPorts,
): PostgresLeadership {
  const logger = root.child({ component: "events" });
  const eventPorts = {
    registry,
    metadata,
    partitions,
    subscriptionStatuses: () => rows.subscriptionStatuses(),
    limits: () => rows.limits(undefined),
    buckets: () => rows.buckets(undefined),
    countUsage: rows.countUsage.bind(rows),
    isWhole: async () => {
      let leadingCount = 0;
      for await (const { status } of rows.partitions()) if (status === "leading") leadingCount++;
      // The number of partitions is 0 until the first worker was found.
      return leadingCount > 0 && leadingCount === directory.partitionCount;
    },
    clock,
    logger,
  };
  const lead = async () => createEnvironmentEvents(eventPorts, eventOptionsOf(settings.events));
  return new PostgresLeadership({ ...database, name: "environment events" }, { lead, clock, logger });
}
