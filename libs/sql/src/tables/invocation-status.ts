/** Why: `sys_invocation_status`, what is stored of each invocation. */
import { partitionKeyOf } from "@perdure/base";
import type { Invocation } from "@perdure/partition";
import { wants } from "../query/hints.js";
import { defineTable } from "../table.js";
import { invocationReaders } from "./invocation-readers.js";
import { findInvocations } from "./invocations.js";

export const invocationStatus = defineTable<Invocation>({
  name: "sys_invocation_status",
  readers: {
    ...invocationReaders,
    partition_key: ({ facts }) => partitionKeyOf(facts.id),
    status: ({ status }) => status,
  },
  rows: (source, hints) => findInvocations(source, hints, (status) => wants(hints, "status", status)),
});
