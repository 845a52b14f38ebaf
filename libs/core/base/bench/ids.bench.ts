/** Each invocation creates and parses several ids and maps them to partitions; each of these operations should stay near a microsecond. */
import {
  awakeableId,
  idempotentInvocationId,
  invocationIdFromRaw,
  invocationIdToRaw,
  newInvocationId,
  parseAwakeableId,
  parseInvocationId,
  partitionKeyOf,
  partitionOf,
  randomSeedOf,
  siblingInvocationId,
  systemRandom,
  workflowInvocationId,
} from "../src/index.js";
import { measure } from "./measure.js";

const nowMs = 1_795_246_690_990;
const ids = Array.from({ length: 1024 }, () =>
  newInvocationId({ service: "Greeter", key: undefined, handler: "greet" }, nowMs, systemRandom),
);
const raws = ids.map(invocationIdToRaw);
const service = { service: "Greeter", key: undefined, handler: "greet" };
const object = { service: "Counter", key: "customer-4711", handler: "add" };
const keys = Array.from({ length: 1024 }, (_, i) => ({ service: "Counter", key: `customer-${i}`, handler: "add" }));
const awakeable = awakeableId(ids[0]!, 17);

measure("newInvocationId, service", () => newInvocationId(service, nowMs, systemRandom));
measure("newInvocationId, one object key", () => newInvocationId(object, nowMs, systemRandom));
measure("newInvocationId, many object keys", (i) => newInvocationId(keys[i & 1023]!, nowMs, systemRandom));
measure("siblingInvocationId", (i) => siblingInvocationId(ids[i & 1023]!, nowMs, systemRandom));
measure("idempotentInvocationId, service", () => idempotentInvocationId(service, "order-12345"));
measure("idempotentInvocationId, object", () => idempotentInvocationId(object, "order-12345"));
measure("workflowInvocationId", () => workflowInvocationId("Signup", "user-42"));
measure("parseInvocationId", (i) => parseInvocationId(ids[i & 1023]!));
measure("invocationIdFromRaw", (i) => invocationIdFromRaw(raws[i & 1023]!));
measure("invocationIdToRaw", (i) => invocationIdToRaw(ids[i & 1023]!));
measure("partitionKeyOf", (i) => partitionKeyOf(ids[i & 1023]!));
measure("partitionOf", (i) => partitionOf(ids[i & 1023]!, 24));
measure("randomSeedOf", (i) => randomSeedOf(ids[i & 1023]!));
measure("awakeableId", (i) => awakeableId(ids[i & 1023]!, 17));
measure("parseAwakeableId", () => parseAwakeableId(awakeable));
