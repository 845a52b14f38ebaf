/** `sys_debounce`: which invocations several sends became, and when those that wait start. */
import { partitionKeyOf } from "@perdure/base";
import type { InvocationFacts } from "@perdure/state-machine";
import { InvocationFields } from "@perdure/storage";
import { defineTable } from "../table.js";
import { findInvocations } from "./invocations.js";

export const debounce = defineTable<InvocationFacts>({
  name: "sys_debounce",
  readers: {
    partition_key: ({ id }) => partitionKeyOf(id),
    id: ({ id }) => id,
    key: (facts) => facts.debounce?.key,
    sends: (facts) => facts.debounce?.sendCount,
    start_at: ({ executionTimeMs }) => executionTimeMs,
    latest_start_at: (facts) => facts.debounce?.startByMs,
  },
  async *rows(source, hints) {
    const fields = new InvocationFields();
    for await (const rows of findInvocations(source, hints, () => true)) {
      for (const row of rows) {
        fields.load(row);
        if (fields.facts.hasDebounce) yield fields.decoded().facts;
      }
    }
  },
});
