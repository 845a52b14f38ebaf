/** A number over time. Small, in the colours of the page, its numbers beside it as text; drawn when uPlot is loaded. */

import { lazy, Suspense, useState } from "react";
import { type ChartSeries, chartSummary, valueAt } from "./chart-text.js";
import { clockText, dateTimeText } from "./time-text.js";
import "./chart.css";

/** The numbers are beside it as text: without the drawing, the page is still complete. */
const Plot = lazy(() => import("./chart-plot.js").catch(() => ({ default: Undrawn })));

function Undrawn() {
  return <p className="quiet small">The chart could not be loaded.</p>;
}

interface ChartProps {
  /** Title of the chart: `Requests a minute`. Screen readers get it with the last and the greatest values. */
  readonly label: string;
  /** Milliseconds since 1970, rising. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly valueText?: (value: number) => string;
  /** Distances between labels at the axis of values, rising; powers of ten and their halves when left out. */
  readonly steps?: readonly number[];
  /** Size of the drawing, in pixels. */
  readonly height?: number;
}

/** Milliseconds of a day; from half a day on, a time of day alone is ambiguous. */
const DAY_MS = 86_400_000;

const plain = (value: number): string => value.toLocaleString(undefined, { maximumFractionDigits: 2 });

export function Chart({ label, times, series, valueText = plain, steps, height = 140 }: ChartProps) {
  const [index, setIndex] = useState<number>();
  const at = index === undefined ? undefined : times[index];
  return (
    <figure className="chart">
      <figcaption className="chart__legend small">
        <span className="chart__label">{label}</span>
        {series.map((each) => {
          const value = valueAt(each, index);
          return (
            <span key={each.name} className="chart__entry nowrap">
              <span className={`chart__swatch chart__ink--${each.ink ?? "accent"}`} aria-hidden="true" />
              <span className="quiet">{each.name}</span>
              <span className="number">{value === null ? "–" : valueText(value)}</span>
            </span>
          );
        })}
        {at !== undefined && (
          <time className="quiet number nowrap" dateTime={new Date(at).toISOString()}>
            {(times.at(-1) ?? at) - (times[0] ?? at) >= DAY_MS / 2 ? dateTimeText(at) : clockText(at, true)}
          </time>
        )}
      </figcaption>
      <div role="img" aria-label={`${label}. ${chartSummary(series, valueText)}`} style={{ height }}>
        <Suspense fallback={null}>
          <Plot times={times} series={series} valueText={valueText} steps={steps} height={height} onPoint={setIndex} />
        </Suspense>
      </div>
    </figure>
  );
}
