export { openPostgresArchive } from "./archive.js";
export { type LeadershipPorts, PostgresLeadership, type PostgresLeadershipOptions } from "./leadership.js";
export {
  migrateDatabase,
  openPostgresMetadataStore,
  type PostgresMetadataStore,
  type PostgresOptions,
} from "./metadata-store.js";
