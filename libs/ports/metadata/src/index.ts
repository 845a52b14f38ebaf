/** Defines the MetadataStore port, with its records, an implementation in memory and the contract suite. */
export { checkKey, checkWrites, documentText, documentValue } from "./check.js";
export { type AcceptedLoss, newDataSetId, readDataSet, type StoredDataSet, writeDataSet } from "./data-set.js";
export { deletedKey, type RestoreOutcome } from "./deletions.js";
export { CHECK_BOUNDS_MAX, CHECK_DEFAULTS, LISTED_DOCUMENTS_MAX } from "./limits.js";
export * from "./memory-store.js";
export * from "./records.js";
export * from "./registry.js";
export * from "./store.js";
export * from "./verification.js";
