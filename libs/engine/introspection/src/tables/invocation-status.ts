/** `sys_invocation_status`: the stored fields of each invocation. */
import { partitionKeyOf } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import { isNeeded, type ScanHints } from "../query/hints.js";
import { columnsOf } from "../schema.js";
import type { SqlTable } from "../table.js";
import { invocationPages } from "./completed-page.js";
import { InvocationPage, type InvocationTableRow, pageColumns } from "./invocation-page.js";

const NAME = "sys_invocation_status";

const COLUMNS = pageColumns(NAME, {
  partition_key: ({ fields }) => partitionKeyOf(fields.invocationId),
  status: ({ fields }: InvocationTableRow) => (fields.status === undefined ? undefined : statusText(fields.status)),
});

export const invocationStatus: SqlTable = {
  name: NAME,
  columns: columnsOf(NAME),
  async *scan(source, hints) {
    const page = new InvocationPage(COLUMNS, new Map());
    yield* invocationPages(source, hints, statusFilterOf(hints), page);
  },
};

/** Returns the text of a status. As in the reference, an invocation is also invoked while it waits for a slot. */
function statusText(status: Invocation["status"]): string {
  return status === "ready" ? "invoked" : status;
}

function statusFilterOf(hints: ScanHints): (status: Invocation["status"]) => boolean {
  return (status) => isNeeded(hints, "status", statusText(status));
}
