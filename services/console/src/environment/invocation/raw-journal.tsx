/** The stored journal for debugging: each entry and notification, with its bytes. */
import { type SqlRow, sqlText } from "@perdure/admin-client";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { Button, CopyButton, Empty, Loaded, Moment, ProblemNote, Table } from "../../kit/index.js";
import { useRequest } from "../request.js";
import { RAW_ENTRIES_MAX } from "./limits.js";
import { sizeText } from "./value-text.js";

interface RawJournalProps {
  readonly id: string;
  readonly from: number;
  /** Changes when there may be more entries. */
  readonly signature: string;
}

export function RawJournal({ id, from, signature }: RawJournalProps) {
  const [, setSearch] = useSearchParams();
  const statement =
    `SELECT "index", entry_type, name, raw_length, appended_at, entry_lite_json FROM sys_journal ` +
    `WHERE id = ${sqlText(id)} AND "index" >= ${from} ORDER BY "index" LIMIT ${RAW_ENTRIES_MAX + 1}`;
  const query = useRequest(["invocation", "raw", statement, signature], ({ admin }, signal) =>
    admin.sql.query(statement, { signal }),
  );
  const go = (index: number) =>
    setSearch((now) => {
      const next = new URLSearchParams(now);
      next.set("entries", String(index));
      return next;
    });
  return (
    <Loaded query={query}>
      {(rows) => (
        <>
          <Table
            label="Raw journal entries"
            rows={rows.slice(0, RAW_ENTRIES_MAX)}
            keyOf={(row) => String(row["index"])}
            columns={[
              { name: "Entry", isNumber: true, cell: (row) => String(row["index"]) },
              { name: "Type", cell: (row) => `${row["entry_type"]}` },
              { name: "Name", cell: (row) => String(row["name"] ?? "") },
              { name: "Stored", cell: ({ appended_at: at }) => <Moment at={typeof at === "string" ? at : undefined} /> },
              { name: "Size", isNumber: true, cell: (row) => sizeText(Number(row["raw_length"])) },
              { name: "Summary", isText: true, cell: (row) => <code>{String(row["entry_lite_json"] ?? "")}</code> },
              { name: "Bytes", cell: (row) => <RawBytes id={id} row={row} /> },
            ]}
            empty={
              <Empty title="No further entries">
                <p>The journal is shorter, or was deleted.</p>
              </Empty>
            }
          />
          {(from > 0 || rows.length > RAW_ENTRIES_MAX) && (
            <div className="row">
              <Button
                isSmall
                forbidden={from === 0 ? "This is the first page." : undefined}
                onClick={() => go(Math.max(0, from - RAW_ENTRIES_MAX))}
              >
                Earlier entries
              </Button>
              <Button
                isSmall
                forbidden={rows.length > RAW_ENTRIES_MAX ? undefined : "This is the last page."}
                onClick={() => go(from + RAW_ENTRIES_MAX)}
              >
                Later entries
              </Button>
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}

/** Digits of megabytes are shown on request only. */
function RawBytes({ id, row }: { readonly id: string; readonly row: SqlRow }) {
  const index = Number(row["index"]);
  const [isRequested, setRequested] = useState(false);
  const statement = `SELECT raw FROM sys_journal WHERE id = ${sqlText(id)} AND "index" = ${index}`;
  const { data, error, refetch } = useRequest(
    ["invocation", "bytes", statement],
    ({ admin }, signal) => admin.sql.query(statement, { signal }),
    { isOff: !isRequested },
  );
  if (!isRequested) {
    return (
      <Button isSmall appearance="bare" aria-label={`Show the bytes of entry ${index}`} onClick={() => setRequested(true)}>
        Show
      </Button>
    );
  }
  if (error !== null && data === undefined) return <ProblemNote cause={error} onRetry={() => void refetch()} />;
  const digits = String(data?.[0]?.["raw"] ?? "");
  return (
    <span className="inv-raw">
      <code>{data === undefined ? "Loading …" : shortened(digits)}</code>
      <CopyButton text={digits} what={`Copy the bytes of entry ${index}`} />
    </span>
  );
}

const DIGITS_SHOWN = 256;

function shortened(digits: string): string {
  return digits.length > DIGITS_SHOWN ? `${digits.slice(0, DIGITS_SHOWN)}…` : digits;
}
