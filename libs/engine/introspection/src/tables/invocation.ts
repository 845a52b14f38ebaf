/**
 * `sys_invocation`: an invocation as stored together with the invoker's view of it. In the reference it is a view over two tables; here
 * the two are joined row by row, so that a look-up by id reads one row.
 */
import { type InvocationId, unreachable } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import type { HeldInvocation, IntrospectionSource } from "../ports.js";
import { isNeeded, isRead, type ScanHints } from "../query/hints.js";
import { columnsOf } from "../schema.js";
import type { Readers, SqlTable } from "../table.js";
import { invocationPages } from "./completed-page.js";
import { heldReaders } from "./held-readers.js";
import { InvocationPage, type InvocationTableRow, pageColumns } from "./invocation-page.js";
import { neededIds } from "./invocations.js";

const NAME = "sys_invocation";

type DerivedStatus = "pending" | "running" | "backing-off" | "ready" | "scheduled" | "suspended" | "paused" | "completed";

const COLUMNS = pageColumns(NAME, { ...ofHeld(heldReaders), status: derivedStatus });

export const invocation: SqlTable = {
  name: NAME,
  columns: columnsOf(NAME),
  async *scan(source, hints) {
    const page = new InvocationPage(COLUMNS, await heldById(source, hints));
    yield* invocationPages(source, hints, storedStatusFilterOf(hints), page);
  },
};

/** Empty when no column of the statement needs it. */
async function heldById({ live }: IntrospectionSource, hints: ScanHints): Promise<ReadonlyMap<InvocationId, HeldInvocation>> {
  const held = new Map<InvocationId, HeldInvocation>();
  const isNeeded = FROM_HELD.some((column) => isRead(hints, column)) && storedStatusFilterOf(hints)("invoked");
  if (!isNeeded) return held;
  for await (const row of live.held(neededIds(hints))) held.set(row.id, row);
  return held;
}

const FROM_HELD: readonly string[] = [...Object.keys(heldReaders), "status"];

/** introspection-sql.md §1, in that order. */
function derivedStatus({ fields: { status }, held }: InvocationTableRow): DerivedStatus | undefined {
  switch (status) {
    case "inboxed":
      return "pending";
    case "scheduled":
    case "completed":
    case "suspended":
    case "paused":
      return status;
    case "ready":
    case "invoked":
      if (held?.inFlight === true) return "running";
      return held !== undefined && held.retryCount > 0 ? "backing-off" : "ready";
    case undefined:
      return undefined;
    default:
      return unreachable(status);
  }
}

const FROM_INVOKED: readonly DerivedStatus[] = ["running", "backing-off", "ready"];

function storedStatusFilterOf(hints: ScanHints): (status: Invocation["status"]) => boolean {
  return (status) => {
    if (status === "invoked" || status === "ready") return FROM_INVOKED.some((derived) => isNeeded(hints, "status", derived));
    return isNeeded(hints, "status", status === "inboxed" ? "pending" : status);
  };
}

/** NULL when no invoker holds the invocation. */
function ofHeld(readers: Readers<HeldInvocation>): Readers<InvocationTableRow> {
  return Object.fromEntries(
    Object.entries(readers).map(([name, read]) => [
      name,
      ({ held }: InvocationTableRow) => (held === undefined ? undefined : read(held)),
    ]),
  );
}
