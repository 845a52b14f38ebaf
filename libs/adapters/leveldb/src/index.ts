/** Implements PartitionStore and MetadataStore on LevelDB. */
export { COMMIT_LOG_DEFAULT, type CommitLogSettings } from "./commit-log/level-commits.js";
export { type LevelStore, openLevelKeyValue } from "./level-key-value.js";
export { openLevelReader } from "./level-reader.js";
export { openLevelMetadataStore } from "./metadata-store.js";
export { holdsDatabase, prepareStorageDirectory, STORAGE_FORMAT, type StorageDirectory } from "./version-file.js";
