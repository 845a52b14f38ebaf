export * from "./async-reads.js";
export { decodeInvocation, encodeInvocation, isTakenUp, statusOf } from "./codec/invocation.js";
export { InvocationFields, type TextField } from "./codec/invocation-fields.js";
export { decodeOwed, encodeOwed, type OwedCommand } from "./codec/message.js";
export * from "./codec/rows.js";
export { type KeyValue, MemoryKeyValue } from "./kv/key-value.js";
export { KvPartitionStore } from "./kv/kv-partition-store.js";
export * from "./lease.js";
export * from "./partition-store.js";
