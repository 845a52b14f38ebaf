/** The last calls of this browser, to make again. */
import type { ServiceMetadata } from "@perdure/admin-client";
import { Link } from "wouter";
import { Badge, Breakable, Button, Moment, ShortId, Table, type TableColumn } from "../../kit/index.js";
import type { HistoryEntry } from "./history.js";

interface HistoryListProps {
  readonly history: readonly HistoryEntry[];
  readonly services: readonly ServiceMetadata[];
  readonly onAgain: (entry: HistoryEntry) => void;
}

export function HistoryList({ history, services, onAgain }: HistoryListProps) {
  const isThere = ({ service, handler }: HistoryEntry) =>
    services.some(({ name, handlers }) => name === service && handlers.some((each) => each.name === handler));
  const columns: readonly TableColumn<HistoryEntry>[] = [
    {
      name: "Handler",
      cell: ({ service, key, handler }) => (
        <code>
          <Breakable text={[service, ...(key === "" ? [] : [key]), handler].join("/")} />
        </code>
      ),
    },
    { name: "Mode", cell: ({ way }) => (way === "delayed" ? "sent with delay" : way === "send" ? "sent" : "called") },
    { name: "Body", cell: ({ body }) => <code>{shortened(body)}</code> },
    {
      name: "Invocation",
      cell: ({ invocationId, isFailure }) => (
        <span className="row">
          {isFailure && <Badge tone="bad">failed</Badge>}
          {invocationId !== undefined && (
            <Link href={`/invocations/${encodeURIComponent(invocationId)}`}>
              <ShortId id={invocationId} />
            </Link>
          )}
        </span>
      ),
    },
    { name: "When", cell: ({ atMs }) => <Moment at={atMs} /> },
    {
      name: "Actions",
      isNameHidden: true,
      cell: (entry) => (
        <Button
          isSmall
          onClick={() => onAgain(entry)}
          forbidden={isThere(entry) ? undefined : "This handler is not registered any more"}
          aria-label={`Use again: ${entry.service}/${entry.handler}`}
        >
          Use again
        </Button>
      ),
    },
  ];
  return (
    <Table
      label="Call history"
      rows={history}
      columns={columns}
      keyOf={({ atMs, invocationId }) => `${atMs} ${invocationId}`}
      empty={<p className="quiet">The last twenty calls of this browser are kept here, without their headers.</p>}
    />
  );
}

const SHOWN_CHARS = 60;

function shortened(body: string): string {
  const line = body.replace(/\s+/g, " ");
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}…` : line;
}
