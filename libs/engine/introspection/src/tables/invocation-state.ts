/** `sys_invocation_state`: invocations that invokers hold in memory now. */
import { partitionKeyOf } from "@perdure/base";
import type { HeldInvocation } from "../ports.js";
import { defineTable } from "../table.js";
import { heldReaders } from "./held-readers.js";
import { neededIds } from "./invocations.js";

export const invocationState = defineTable<HeldInvocation>({
  name: "sys_invocation_state",
  readers: {
    ...heldReaders,
    partition_key: ({ id }) => partitionKeyOf(id),
    id: ({ id }) => id,
    in_flight: ({ inFlight }) => inFlight,
  },
  rows: ({ live }, hints) => live.held(neededIds(hints)),
});
