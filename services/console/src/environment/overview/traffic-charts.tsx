/** Requests, failures and latencies of the last hour, minute by minute. */
import type { Row } from "@perdure/admin-client";
import { useMemo } from "react";
import { Chart, durationText, Facts } from "../../kit/index.js";
import { trafficOf } from "./figures.js";

export function TrafficCharts({ rows, nowMs }: { readonly rows: readonly Row[]; readonly nowMs: number }) {
  const traffic = useMemo(() => trafficOf(rows, nowMs), [rows, nowMs]);
  const { times, total } = traffic;
  const requests = useMemo(
    () => [
      { name: "requests", values: traffic.made, isFilled: true },
      { name: "failures", values: traffic.failed, ink: "bad" as const },
    ],
    [traffic],
  );
  const latencies = useMemo(
    () => [
      { name: "half within", values: traffic.p50Ms },
      { name: "99 % within", values: traffic.p99Ms, ink: "warn" as const },
    ],
    [traffic],
  );
  return (
    <>
      <Facts
        facts={[
          ["Ended", total.ended.toLocaleString()],
          ["Failed", total.ended === 0 ? "0" : `${total.failed.toLocaleString()} (${percent(total.failed / total.ended)})`],
          ["Half of them within", timeText(total.p50Ms)],
          ["99 % of them within", timeText(total.p99Ms)],
        ]}
      />
      <div className="grid overview__charts">
        <div className="card">
          <Chart label="Per minute" times={times} series={requests} />
        </div>
        <div className="card">
          <Chart label="Time to the end" times={times} series={latencies} valueText={durationText} />
        </div>
      </div>
      <p className="quiet small">Counted is what the server still keeps: invocations without retention are gone when they end.</p>
    </>
  );
}

const timeText = (ms: number | undefined): string => (ms === undefined ? "–" : durationText(ms));

function percent(share: number): string {
  return share.toLocaleString(undefined, { style: "percent", maximumSignificantDigits: 2 });
}
