/** Deliveries that failed or were paused: the server does not deliver them again until they are replayed. */
import type { SqlRow } from "@perdure/admin-client";
import { Link } from "wouter";
import { Breakable, Button, Loaded, Moment, Section, Table, type TableColumn } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useChange, useSql } from "../request.js";
import { textOf } from "../rows.js";
import { DELIVERIES_EVERY_MS, DELIVERIES_SHOWN_MAX } from "./limits.js";

const STATEMENT = `SELECT id, event_type, subject, status, failure, modified_at FROM sys_event_delivery
WHERE status IN ('failed', 'paused') ORDER BY modified_at DESC LIMIT ${DELIVERIES_SHOWN_MAX}`;

export function Deliveries() {
  const { forbidden } = useEnvironment();
  const query = useSql(STATEMENT, { everyMs: DELIVERIES_EVERY_MS });
  const replay = useChange<string, string>(({ admin }, id) => admin.events.replay(id), {
    done: () => "The event is delivered again",
    failed: "The event was not delivered again",
  });
  const columns: readonly TableColumn<SqlRow>[] = [
    { name: "Event", cell: (row) => <code>{textOf(row, "event_type")}</code> },
    { name: "Subject", cell: (row) => <Breakable text={textOf(row, "subject") ?? ""} /> },
    {
      name: "Failure",
      isText: true,
      cell: (row) => (
        <Link href={`/invocations/${encodeURIComponent(textOf(row, "id") ?? "")}`}>
          {textOf(row, "failure")?.split("\n", 1)[0] ?? textOf(row, "status")}
        </Link>
      ),
    },
    { name: "Since", cell: (row) => <Moment at={textOf(row, "modified_at")} /> },
    {
      name: "Actions",
      isNameHidden: true,
      cell: (row) => (
        <Button
          isSmall
          forbidden={forbidden}
          aria-label={`Replay ${textOf(row, "event_type")} of ${textOf(row, "subject")}`}
          onClick={() => replay.mutate(textOf(row, "id") ?? "")}
        >
          Replay
        </Button>
      ),
    },
  ];
  return (
    <Section title="Failed deliveries">
      <Loaded query={query}>
        {(rows) => (
          <Table
            label="Failed deliveries"
            rows={rows}
            keyOf={(row) => textOf(row, "id") ?? ""}
            columns={columns}
            empty={<p className="quiet">No delivery has failed.</p>}
          />
        )}
      </Loaded>
    </Section>
  );
}
