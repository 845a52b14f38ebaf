/** Introspection: the `sys_*` tables, what to read for a statement, and the engine that runs it. */
export { createSqlEngine, SQL_ENGINE_DEFAULTS, type SqlEngine, type SqlEngineOptions, type SqlEnginePorts } from "./engine.js";
export { type LivePorts, liveRowsOf } from "./live.js";
export type * from "./ports.js";
