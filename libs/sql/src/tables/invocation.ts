/**
 * Why: `sys_invocation`, an invocation as stored together with what its invoker knows of it. To the reference it is a view over
 * two tables; here the two are put together row by row, so that a look-up by id stays one.
 */
import type { InvocationId } from "@perdure/base";
import type { Invocation } from "@perdure/partition";
import type { HeldInvocation, IntrospectionSource } from "../ports.js";
import { isRead, type ScanHints, wants } from "../query/hints.js";
import { defineTable, type Readers } from "../table.js";
import { heldReaders } from "./held-readers.js";
import { invocationReaders } from "./invocation-readers.js";
import { findInvocations, wantedIds } from "./invocations.js";

interface JoinedRow {
  readonly stored: Invocation;
  readonly held: HeldInvocation | undefined;
}

type DerivedStatus = "pending" | "running" | "backing-off" | "ready" | Exclude<Invocation["status"], "inboxed" | "invoked">;

export const invocation = defineTable<JoinedRow>({
  name: "sys_invocation",
  readers: {
    ...mapped(invocationReaders, ({ stored }: JoinedRow) => stored),
    ...mapped(heldReaders, ({ held }: JoinedRow) => held),
    status: derivedStatus,
  },
  async *rows(source, hints) {
    const held = await heldById(source, hints);
    for await (const stored of findInvocations(source, hints, wantedStored(hints))) {
      yield { stored, held: stored.status === "completed" ? undefined : held.get(stored.facts.id) };
    }
  },
});

/** Empty when no column of the statement needs it. */
async function heldById({ live }: IntrospectionSource, hints: ScanHints): Promise<ReadonlyMap<InvocationId, HeldInvocation>> {
  const held = new Map<InvocationId, HeldInvocation>();
  if (!FROM_HELD.some((column) => isRead(hints, column))) return held;
  for await (const row of live.held(wantedIds(hints))) held.set(row.id, row);
  return held;
}

const FROM_HELD: readonly string[] = [...Object.keys(heldReaders), "status"];

/** introspection-sql.md §1, in that order. */
function derivedStatus({ stored, held }: JoinedRow): DerivedStatus {
  if (stored.status === "inboxed") return "pending";
  if (stored.status !== "invoked") return stored.status;
  if (held?.inFlight === true) return "running";
  return held !== undefined && held.retryCount > 0 ? "backing-off" : "ready";
}

const FROM_INVOKED: readonly DerivedStatus[] = ["running", "backing-off", "ready"];

function wantedStored(hints: ScanHints): (status: Invocation["status"]) => boolean {
  return (status) => {
    if (status === "invoked") return FROM_INVOKED.some((derived) => wants(hints, "status", derived));
    return wants(hints, "status", status === "inboxed" ? "pending" : status);
  };
}

/** Readers of a part of the row; NULL where the part is missing. */
function mapped<Row, Part>(readers: Readers<Part>, part: (row: Row) => Part | undefined): Readers<Row> {
  return Object.fromEntries(
    Object.entries(readers).map(([name, read]) => [
      name,
      (row: Row) => {
        const value = part(row);
        return value === undefined ? undefined : read(value);
      },
    ]),
  );
}
