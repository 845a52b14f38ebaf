/**
 * Why: `sys_invocation`, an invocation as stored together with what its invoker knows of it. To the reference it is a view over
 * two tables; here the two are put together row by row, so that a look-up by id stays one.
 */
import type { Invocation } from "@perdure/partition";
import type { HeldInvocation } from "../ports.js";
import { type ScanHints, wants } from "../query/hints.js";
import { defineTable, type Readers } from "../table.js";
import { heldReaders } from "./held-readers.js";
import { invocationReaders } from "./invocation-readers.js";
import { findInvocations } from "./invocations.js";

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
    for await (const stored of findInvocations(source, hints, wantedStored(hints))) {
      yield { stored, held: source.invoker.status(stored.facts.id) };
    }
  },
});

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
