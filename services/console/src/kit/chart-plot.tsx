/**
 * uPlot in React: created again when the colours or the series change, updated with new numbers otherwise. Loaded lazily by `chart.tsx`.
 */

import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { axisText } from "./time-text.js";
import "uplot/dist/uPlot.min.css";
import { CHART_INKS, type ChartInk, type ChartSeries } from "./chart-text.js";
import { useThemeTurn } from "./theme-turn.js";

interface PlotProps {
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly valueText: (value: number) => string;
  /** Distances between the labels of values; the smallest for which the labels fit is used. */
  readonly steps?: readonly number[] | undefined;
  readonly height: number;
  /** Called with the index of the moment that is pointed at. */
  readonly onPoint: (index: number | undefined) => void;
}

type Inks = Readonly<Record<ChartInk | "line", string>>;

export default function Plot({ times, series, valueText, steps, height, onPoint }: PlotProps) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const turn = useThemeTurn();
  const [width, setWidth] = useState(0);
  const data = useMemo<uPlot.AlignedData>(
    () => [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])],
    [times, series],
  );
  const latest = useRef({ data, valueText, onPoint });
  latest.current = { data, valueText, onPoint };
  const appearance = series.map(({ name, ink, isFilled }) => `${name}/${ink}/${isFilled}`).join();

  useEffect(() => {
    if (container.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(container.current);
    return () => observer.disconnect();
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `look` holds the relevant part of `series`; `turn` changes with the colours
  useEffect(() => {
    if (container.current === null || width === 0) return;
    const made = new uPlot(
      {
        width,
        height,
        ...optionsOf(series, inksOf(container.current), {
          steps,
          valueText: (value) => latest.current.valueText(value),
          onPoint: (index) => latest.current.onPoint(index),
        }),
      },
      latest.current.data,
      container.current,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [width, height, appearance, steps, turn]);

  useEffect(() => plot.current?.setData(data), [data]);

  return (
    <div ref={container} className="chart__plot" aria-hidden="true">
      {[...CHART_INKS, "line"].map((ink) => (
        <span key={ink} data-ink={ink} className={`chart__ink--${ink}`} hidden />
      ))}
    </div>
  );
}

/** Canvases have no custom properties: the computed styles of elements provide the colours. */
function inksOf(container: HTMLElement): Inks {
  const colourOf = (ink: string): string => {
    const probe = container.querySelector(`[data-ink=${ink}]`);
    return probe === null ? "gray" : getComputedStyle(probe).color;
  };
  return {
    accent: colourOf("accent"),
    good: colourOf("good"),
    bad: colourOf("bad"),
    warn: colourOf("warn"),
    quiet: colourOf("quiet"),
    line: colourOf("line"),
  };
}

function optionsOf(
  series: readonly ChartSeries[],
  inks: Inks,
  { valueText, steps, onPoint }: Pick<PlotProps, "valueText" | "steps" | "onPoint">,
): Pick<uPlot.Options, "series" | "axes" | "scales" | "legend" | "cursor" | "hooks"> {
  const axis = { stroke: inks.quiet, ticks: { show: false }, grid: { stroke: inks.line, width: 1 }, font: AXIS_FONT };
  return {
    series: [{}, ...series.map((each) => lineOf(each, inks))],
    axes: [
      { ...axis, size: 24, space: 70, values: (_plot, seconds) => seconds.map(clock) },
      {
        ...axis,
        size: (plot, labels) => AXIS_GAP_PX + widthOf(plot, labels),
        gap: AXIS_GAP_PX,
        space: 34,
        ...(steps === undefined ? {} : { incrs: [...steps] }),
        values: (_plot, values) => values.map(valueText),
      },
    ],
    // From zero up, and never flat.
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
}

const AXIS_FONT = "11px system-ui";
const AXIS_GAP_PX = 6;

/** Width of the widest label, in CSS pixels. There are none yet when uPlot requests it first. */
function widthOf({ ctx }: uPlot, labels: readonly string[] | null): number {
  ctx.save();
  ctx.font = AXIS_FONT.replace(/^\d+/, (size) => String(Number(size) * devicePixelRatio));
  const widest = (labels ?? []).reduce((most, label) => Math.max(most, ctx.measureText(label).width), 0);
  ctx.restore();
  return Math.ceil(widest / devicePixelRatio);
}

function lineOf({ name, ink = "accent", isFilled }: ChartSeries, inks: Inks): uPlot.Series {
  const stroke = inks[ink];
  // A value without neighbours is not a line, only a point.
  const points = { size: 4, fill: stroke, filter: (plot: uPlot, index: number) => lonely(plot.data[index] ?? []) };
  const line: uPlot.Series = { label: name, stroke, width: 1.5, points };
  // Computed colours are `rgb(r, g, b)`.
  return isFilled ? { ...line, fill: stroke.replace("rgb(", "rgba(").replace(")", ", 0.14)") } : line;
}

/** Points whose neighbours are missing. */
function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const indexes: number[] = [];
  for (let i = 0; i < values.length; i++) {
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) indexes.push(i);
  }
  return indexes;
}

const clock = (seconds: number): string => axisText(seconds * 1_000);
