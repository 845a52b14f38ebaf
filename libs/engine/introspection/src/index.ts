/**
 * Defines the `sys_*` tables and runs SQL over them. SQL runs in separate processes; the package also decides which rows must be read for
 * a statement.
 */
export { liveRowsOf, NOT_RECORDED, registryRowsOf, trafficRowsOf } from "./live.js";
export { memoryOptions, SQL_ENGINE_DEFAULTS, type SqlEngine, type SqlEngineOptions } from "./options.js";
export type * from "./ports.js";
export { createSqlProcesses, type SqlProcessPorts } from "./process/host.js";
export { createStoreThread, type StoreService } from "./process/store-server.js";
export { CONDITION_CHARS_MAX, checkCondition } from "./query/condition.js";
