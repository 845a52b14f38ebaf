/** The same figures for each service; numbers lead to the invocations they count. */
import type { InvocationFilter } from "@perdure/admin-client";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Duration, Table, type TableColumn } from "../../kit/index.js";
import { invocationsHref } from "../invocations-link.js";
import type { LiveStatus, ServiceFigures } from "./figures.js";
import type { Window } from "./windows.js";

export function ByService({
  services,
  window,
  isWindowLoaded,
}: {
  readonly services: readonly ServiceFigures[];
  /** Time range of calls, failures and durations. */
  readonly window: Window;
  readonly isWindowLoaded: boolean;
}) {
  const ofWindow = (cell: (row: ServiceFigures) => ReactNode) => (row: ServiceFigures) =>
    isWindowLoaded ? cell(row) : <span className="quiet">…</span>;
  const columns: readonly TableColumn<ServiceFigures>[] = [
    {
      name: "Service",
      cell: ({ service }) => <Link href={`/services/${encodeURIComponent(service)}`}>{service}</Link>,
    },
    {
      name: "Calls",
      isNumber: true,
      cell: ofWindow(({ service, calls }) => (
        <Count n={calls} filter={{ services: [service], createdWithinMs: window.spanMs }} what={`calls of ${service}`} />
      )),
    },
    {
      name: "Failed",
      isNumber: true,
      cell: ofWindow(({ service, failed }) => (
        <Count
          n={failed}
          filter={{ services: [service], orEndedWith: ["failure"], modifiedWithinMs: window.spanMs }}
          what={`failed invocations of ${service}`}
        />
      )),
    },
    live("Running", "running"),
    live("Backing off", "backing-off"),
    live("Suspended", "suspended"),
    live("Paused", "paused"),
    { name: "p50", isNumber: true, cell: ofWindow(({ p50Ms }) => <Duration ms={p50Ms} />) },
    { name: "p99", isNumber: true, cell: ofWindow(({ p99Ms }) => <Duration ms={p99Ms} />) },
  ];
  return <Table label="Figures by service" rows={services} columns={columns} keyOf={({ service }) => service} />;
}

function live(name: string, status: LiveStatus): TableColumn<ServiceFigures> {
  return {
    name,
    isNumber: true,
    cell: ({ service, counts }) => (
      <Count
        n={counts[status]}
        filter={{ services: [service], statuses: [status] }}
        what={`${status} invocations of ${service}`}
      />
    ),
  };
}

function Count({ n, filter, what }: { readonly n: number; readonly filter: InvocationFilter; readonly what: string }) {
  if (n === 0) return <span className="quiet">0</span>;
  const text = n.toLocaleString();
  return (
    <Link href={invocationsHref(filter)} aria-label={`${text} ${what}`}>
      {text}
    </Link>
  );
}
