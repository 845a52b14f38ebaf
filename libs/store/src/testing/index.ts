/** The contract of `PartitionStore` and what its tests are made of. */
export * from "./arbitraries.js";
export { describeArchive } from "./archive-contract.js";
export { behindNetwork } from "./behind-network.js";
export { describePartitionStore, type StoreUnderTest } from "./contract.js";
export { parseRecordedRows } from "./recorded-rows.js";
