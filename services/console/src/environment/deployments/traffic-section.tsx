/** The share of a deployment in the calls of its services: while a new version takes over, the line of the earlier one falls. */
import type { DeploymentDetail, DeploymentSummary } from "@perdure/admin-client";
import { useMemo } from "react";
import { Chart, Loaded, Section } from "../../kit/index.js";
import { useSql } from "../request.js";
import { trafficOfServices, versionTraffic } from "./traffic-rows.js";

/** The statement reads the invocations of an hour. */
const EVERY_MS = 15_000;

interface TrafficSectionProps {
  readonly deployment: DeploymentDetail;
  readonly all: readonly DeploymentSummary[];
}

export function TrafficSection({ deployment: { id, services }, all }: TrafficSectionProps) {
  const query = useSql(trafficOfServices(services.map(({ name }) => name)), { everyMs: EVERY_MS, isOff: services.length === 0 });
  if (services.length === 0) return null;
  return (
    <Section title="Traffic by version">
      <Loaded query={query}>{(rows) => <Traffic rows={rows} id={id} all={all} />}</Loaded>
    </Section>
  );
}

interface TrafficProps {
  readonly rows: Parameters<typeof versionTraffic>[0];
  readonly id: string;
  readonly all: readonly DeploymentSummary[];
}

function Traffic({ rows, id, all }: TrafficProps) {
  const { times, series, calls, own } = useMemo(() => versionTraffic(rows, id, all, Date.now()), [rows, id, all]);
  if (calls === 0) return <p className="quiet">No calls of its services in the last hour.</p>;
  const share = (own / calls).toLocaleString(undefined, { style: "percent", maximumSignificantDigits: 3 });
  return (
    <div className="card stack stack--tight">
      <p>
        {own.toLocaleString()} of {calls.toLocaleString()} {calls === 1 ? "call" : "calls"} of its services in the last hour
        started on this deployment ({share}).
      </p>
      <Chart label="Calls per minute" times={times} series={series} />
      <p className="quiet small">Counts cover invocations that the server retains.</p>
    </div>
  );
}
