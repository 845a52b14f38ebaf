/** Stores metadata, the cloud's records and the archive of completed invocations in PostgreSQL. */
export { deferredPostgresArchive, openPostgresArchive, type SizedArchive } from "./archive.js";
export { environmentRole, environmentUrl, isEnvironmentUrl } from "./environments/names.js";
export {
  type EnvironmentDatabaseOptions,
  type PrepareOptions,
  type PrepareOutcome,
  prepareEnvironmentDatabase,
} from "./environments/prepare.js";
export { removeEnvironmentDatabase } from "./environments/remove.js";
export { followChanges } from "./follow.js";
export { type LeaderTerm, PostgresLeadership } from "./leadership.js";
export {
  migrateDatabase,
  openPostgresMetadataStore,
  type PostgresConnectionOptions,
  type PostgresMetadataStore,
} from "./metadata-store.js";
export { type PoolCounts, statementOf } from "./observed-client.js";
export * from "./tenancy/index.js";
