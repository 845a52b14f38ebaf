/** `sys_fork`: which invocations are forks, of which invocation, and with which edits. */
import { partitionKeyOf } from "@perdure/base";
import type { InvocationFacts } from "@perdure/state-machine";
import { InvocationFields } from "@perdure/storage";
import { defineTable } from "../table.js";
import { findInvocations } from "./invocations.js";

export const fork = defineTable<InvocationFacts>({
  name: "sys_fork",
  readers: {
    partition_key: ({ id }) => partitionKeyOf(id),
    id: ({ id }) => id,
    forked_from: ({ source }) => (source.kind === "restart" ? source.from : undefined),
    forked_at_entry: ({ fork }) => fork?.atEntry,
    edited_steps: ({ fork }) => fork?.editedSteps,
    created_at: ({ createdAtMs }) => createdAtMs,
  },
  async *rows(source, hints) {
    const fields = new InvocationFields();
    for await (const rows of findInvocations(source, hints, () => true)) {
      for (const row of rows) {
        fields.load(row);
        // Only restarts can be forks, and the kind of the source is read without decoding the row.
        if (fields.facts.sourceKind !== "restart") continue;
        const { facts } = fields.decoded();
        if (facts.fork !== undefined) yield facts;
      }
    }
  },
});
