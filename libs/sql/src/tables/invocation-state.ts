/** Why: `sys_invocation_state`, what invokers hold in memory right now. */
import { parseInvocationId, partitionKeyOf } from "@perdure/base";
import type { HeldInvocation } from "../ports.js";
import { allowedValues } from "../query/hints.js";
import { defineTable } from "../table.js";
import { heldReaders } from "./held-readers.js";

export const invocationState = defineTable<HeldInvocation>({
  name: "sys_invocation_state",
  readers: {
    ...heldReaders,
    partition_key: ({ id }) => partitionKeyOf(id),
    id: ({ id }) => id,
    in_flight: ({ inFlight }) => inFlight,
  },
  *rows({ invoker }, hints) {
    const ids = allowedValues(hints, "id");
    if (ids === undefined) return yield* invoker.statuses();
    for (const text of ids) {
      const id = parseInvocationId(text);
      const held = id.ok ? invoker.status(id.value) : undefined;
      if (held !== undefined) yield held;
    }
  },
});
