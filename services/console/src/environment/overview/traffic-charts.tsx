/** Requests, failures and latencies of a window, point by point. */
import { useMemo } from "react";
import { Chart, DURATION_STEPS, durationText, Facts } from "../../kit/index.js";
import type { TrafficRows } from "./counted.js";
import { type StatusCounts, trafficOf, unfinishedOf } from "./figures.js";
import type { Window } from "./windows.js";

interface TrafficChartsProps {
  readonly traffic: TrafficRows;
  readonly nowMs: number;
  readonly window: Window;
  /** Of the moment; undefined before they are loaded. */
  readonly counts: StatusCounts | undefined;
}

export function TrafficCharts({ traffic: { rows, isCounted }, nowMs, window, counts }: TrafficChartsProps) {
  const traffic = useMemo(() => trafficOf(rows, nowMs, window), [rows, nowMs, window]);
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
      { name: "p50", values: traffic.p50Ms },
      { name: "p99", values: traffic.p99Ms, ink: "warn" as const },
    ],
    [traffic],
  );
  const unfinished = useMemo(() => {
    if (counts === undefined) return undefined;
    return [{ name: "unfinished", values: unfinishedOf(rows, traffic.times, window, counts), isFilled: true }];
  }, [rows, traffic, window, counts]);
  return (
    <>
      <Facts
        facts={[
          ["Completed", total.ended.toLocaleString()],
          ["Failed", total.ended === 0 ? "0" : `${total.failed.toLocaleString()} (${percent(total.failed / total.ended)})`],
          ["p50", timeText(total.p50Ms)],
          ["p99", timeText(total.p99Ms)],
        ]}
      />
      <div className="grid overview__charts">
        <div className="card">
          <Chart label={window.per} times={times} series={requests} />
        </div>
        <div className="card">
          <Chart label="Duration" times={times} series={latencies} valueText={durationText} steps={DURATION_STEPS} />
        </div>
        {unfinished !== undefined && (
          <div className="card">
            <Chart label="Waiting, running or suspended" times={times} series={unfinished} />
          </div>
        )}
      </div>
      <p className="quiet small">
        {isCounted
          ? "Counts include invocations that are not retained. Durations are estimates within 20 %."
          : "Counts cover invocations that the server retains: those without retention are deleted when they complete."}
      </p>
    </>
  );
}

const timeText = (ms: number | undefined): string => (ms === undefined ? "–" : durationText(ms));

function percent(share: number): string {
  return share.toLocaleString(undefined, { style: "percent", maximumSignificantDigits: 2 });
}
