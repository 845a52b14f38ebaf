/** Implements PartitionStore and MetadataStore on LevelDB. */
export { COMMIT_LOG_DEFAULT, type CommitLogSettings } from "./commit-log/level-commits.js";
export { type LevelWriter, type LevelWriters, openLevelKeyValue, openLevelWriter } from "./level-key-value.js";
export { openLevelReader } from "./level-reader.js";
export type { LevelStore } from "./level-store.js";
export { openLevelMetadataStore } from "./metadata-store.js";
export { holdsDatabase, prepareStorageDirectory, STORAGE_FORMAT, type StorageDirectory } from "./version-file.js";
