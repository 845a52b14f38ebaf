/** Calls of the last hour in the row of a list: the number leads to the invocations, the bars show the trend. */
import type { InvocationFilter } from "@perdure/admin-client";
import { Link } from "wouter";
import { Trend } from "../kit/trend.js";
import { invocationsHref } from "./invocations-link.js";
import { type HourTrend, trendLabel } from "./trend-rows.js";
import "./trend-cell.css";

const HOUR_MS = 3_600_000;

interface TrendCellProps {
  readonly name: string;
  readonly trend: HourTrend;
  /** The invocations of the row, of any time. */
  readonly filter: InvocationFilter;
}

export function TrendCell({ name, trend, filter }: TrendCellProps) {
  const { calls, failed } = trend;
  const [callsText, failedText] = [calls.toLocaleString(), failed.toLocaleString()];
  return (
    <div className="trend-cell">
      <Trend label={trendLabel(name, trend)} bars={trend.bars} />
      <span className="nowrap">
        {calls === 0 ? (
          <span className="quiet">0</span>
        ) : (
          <Link
            href={invocationsHref({ ...filter, createdWithinMs: HOUR_MS })}
            aria-label={`${callsText} calls of ${name} in the last hour`}
          >
            {callsText}
          </Link>
        )}
        {failed > 0 && (
          <>
            {", "}
            <Link
              className="trend-cell__failed"
              href={invocationsHref({ ...filter, orEndedWith: ["failure"], modifiedWithinMs: HOUR_MS })}
              aria-label={`${failedText} failed invocations of ${name} in the last hour`}
            >
              {failedText} failed
            </Link>
          </>
        )}
      </span>
    </div>
  );
}
