/** `sys_throttle`: keys with a throttle, what their present period has admitted, and when it ends. */
import { partitionKeyOf } from "@perdure/base";
import { decodeThrottlePeriod, THROTTLE_SERVICE, type ThrottlePeriod } from "@perdure/state-machine";
import { isNeeded } from "../query/hints.js";
import { defineTable } from "../table.js";
import { everyPartition } from "./partitions.js";

export const throttle = defineTable<ThrottlePeriod>({
  name: "sys_throttle",
  readers: {
    partition_key: ({ newestId }) => partitionKeyOf(newestId),
    scope: ({ scope }) => scope,
    service_name: ({ service }) => service,
    service_key: ({ objectKey }) => objectKey,
    handler_name: ({ handler }) => handler,
    key: ({ throttleKey }) => throttleKey,
    throttle_limit: ({ limit }) => limit,
    admitted: ({ admittedCount }) => admittedCount,
    began_at: ({ beganAtMs }) => beganAtMs,
    ends_at: ({ endsAtMs }) => endsAtMs,
    newest_id: ({ newestId }) => newestId,
  },
  async *rows({ store, partitionCount }, hints) {
    const partitions = everyPartition({ partitionCount });
    store.expectStateScans?.([THROTTLE_SERVICE], partitions);
    for (const partition of partitions) {
      for await (const { value } of store.scanState(partition, THROTTLE_SERVICE)) {
        const period = decodeThrottlePeriod(value);
        if (isNeeded(hints, "service_name", period.service)) yield period;
      }
    }
  },
});
