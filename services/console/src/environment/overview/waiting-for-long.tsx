/** Invocations that wait for longer than is usual, and links to the pages that explain why. */
import { Link } from "wouter";
import { Duration, InvocationBadge, Section, Table, type TableColumn } from "../../kit/index.js";
import { invocationsHref } from "../invocations-link.js";
import type { LongWait } from "./long-waits.js";

const COLUMNS: readonly TableColumn<LongWait>[] = [
  { name: "Status", cell: ({ status }) => <InvocationBadge status={status} /> },
  { name: "Service", cell: ({ service }) => <Link href={`/services/${encodeURIComponent(service)}`}>{service}</Link> },
  {
    name: "Waiting",
    isNumber: true,
    cell: ({ service, status, count }) => (
      <Link href={invocationsHref({ services: [service], statuses: [status] })}>{count.toLocaleString()}</Link>
    ),
  },
  { name: "Longest wait", isNumber: true, cell: ({ longestMs }) => <Duration ms={longestMs} /> },
  {
    name: "Reason",
    cell: ({ invocationId, service }) => (
      <Link href={`/invocations/${encodeURIComponent(invocationId)}`} aria-label={`Explain the longest wait of ${service}`}>
        Explain
      </Link>
    ),
  },
];

export function WaitingForLong({ waits }: { readonly waits: readonly LongWait[] }) {
  return (
    <Section title="Waiting for long">
      <Table
        label="Services that wait for long"
        rows={waits}
        columns={COLUMNS}
        keyOf={({ service, status }) => `${service} ${status}`}
      />
    </Section>
  );
}
