export {
  migrateDatabase,
  openPostgresMetadataStore,
  type PostgresMetadataStore,
  type PostgresOptions,
} from "./metadata-store.js";
