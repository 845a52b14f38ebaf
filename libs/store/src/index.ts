export { decodeInvocation, encodeInvocation } from "./codec/invocation.js";
export { decodeOwed, encodeOwed, type OwedCommand } from "./codec/message.js";
export { type KeyValue, MemoryKeyValue } from "./kv/key-value.js";
export { KvPartitionStore } from "./kv/kv-partition-store.js";
export * from "./partition-store.js";
