/** The contract of `PartitionStore` and the parts of its tests. */
export * from "./arbitraries.js";
export { describeArchive } from "./archive-contract.js";
export { behindNetwork } from "./behind-network.js";
export { describePartitionStore, type StoreUnderTest } from "./contract.js";
export { parseRecordedRows } from "./recorded-rows.js";
