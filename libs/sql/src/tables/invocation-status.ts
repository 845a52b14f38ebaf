/** Why: `sys_invocation_status`, what is stored of each invocation. */
import { partitionKeyOf } from "@perdure/base";
import type { Invocation } from "@perdure/partition";
import { type ScanHints, wants } from "../query/hints.js";
import { columnsOf } from "../schema.js";
import type { Table } from "../table.js";
import { InvocationPage, type InvocationRow, pageColumns } from "./invocation-page.js";
import { findInvocations } from "./invocations.js";

const NAME = "sys_invocation_status";

const COLUMNS = pageColumns(NAME, {
  partition_key: ({ fields }) => partitionKeyOf(fields.invocationId),
  status: ({ fields }: InvocationRow) => (fields.status === undefined ? undefined : statusText(fields.status)),
});

export const invocationStatus: Table = {
  name: NAME,
  columns: columnsOf(NAME),
  async *scan(source, hints) {
    const page = new InvocationPage(COLUMNS, new Map());
    for await (const rows of findInvocations(source, hints, isWanted(hints))) yield page.over(rows);
  },
};

/** To the reference an invocation is invoked also while it waits for a place to run. */
function statusText(status: Invocation["status"]): string {
  return status === "ready" ? "invoked" : status;
}

function isWanted(hints: ScanHints): (status: Invocation["status"]) => boolean {
  return (status) => wants(hints, "status", statusText(status));
}
