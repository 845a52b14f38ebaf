// biome-ignore-all lint/a11y/noStaticElementInteractions: the dialog of the filter does the same with the keyboard
/** The mouse draws a range of time over the bars; the list then shows what was created in it. */
import type { InvocationFilter } from "@perdure/admin-client";
import { type PointerEvent, useRef, useState } from "react";
import { dateTimeText, durationText } from "../../kit/index.js";
import { useRequest } from "../request.js";
import {
  createdBetween,
  type HistogramBar,
  histogramOf,
  histogramStatement,
  type InvocationHistogram,
  rangeBetween,
} from "./histogram.js";
import { COUNTS_MS, COUNTS_SHARE, HISTOGRAM_BARS } from "./limits.js";

interface HistogramViewProps {
  readonly filter: InvocationFilter;
  readonly condition: string | undefined;
  readonly isLive: boolean;
  readonly isOff: boolean;
  readonly onChange: (filter: InvocationFilter) => void;
}

export function HistogramView({ filter, condition, isLive, isOff, onChange }: HistogramViewProps) {
  const tookMs = useRef(0);
  const { data } = useRequest(
    ["invocations", "histogram", condition],
    async ({ admin }, signal) => {
      const beganMs = performance.now();
      const rows = await admin.sql.query(histogramStatement(condition, filter), { signal });
      tookMs.current = performance.now() - beganMs;
      return histogramOf(rows) ?? null;
    },
    { everyMs: isLive && Math.max(COUNTS_MS, tookMs.current / COUNTS_SHARE), isOff },
  );
  if (data === undefined || data === null || isOff) return null;
  return <Bars histogram={data} onRange={(fromMs, toMs) => onChange(createdBetween(filter, fromMs, toMs))} />;
}

interface BarsProps {
  readonly histogram: InvocationHistogram;
  readonly onRange: (fromMs: number, toMs: number) => void;
}

/** Both ends as parts of the width. */
interface DrawnRange {
  readonly from: number;
  readonly to: number;
}

function Bars({ histogram, onRange }: BarsProps) {
  const [drawn, setDrawn] = useState<DrawnRange>();
  const [pointed, setPointed] = useState<HistogramBar>();
  const partOf = (event: PointerEvent<HTMLElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return box.width === 0 ? 0 : Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const range = drawn === undefined ? undefined : rangeBetween(histogram, drawn.from, drawn.to);
  return (
    <figure className="runs-bars">
      <div
        className="runs-bars__room"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrawn({ from: partOf(event), to: partOf(event) });
        }}
        onPointerMove={(event) => {
          const to = partOf(event);
          setPointed(histogram.bars[Math.min(HISTOGRAM_BARS - 1, Math.floor(to * HISTOGRAM_BARS))]);
          setDrawn((now) => (now === undefined ? now : { ...now, to }));
        }}
        onPointerUp={() => {
          if (range !== undefined) onRange(range.fromMs, range.toMs);
          setDrawn(undefined);
        }}
        onPointerCancel={() => setDrawn(undefined)}
        onPointerLeave={() => setPointed(undefined)}
      >
        <svg
          role="img"
          aria-label={summaryOf(histogram)}
          viewBox={`0 0 ${HISTOGRAM_BARS} 1`}
          preserveAspectRatio="none"
          className="runs-bars__drawing"
        >
          {histogram.bars.map((bar, i) => (
            <BarShape key={bar.fromMs} bar={bar} at={i} countMax={histogram.countMax} />
          ))}
        </svg>
        {drawn !== undefined && (
          <span
            className="runs-bars__drawn"
            style={{ left: `${Math.min(drawn.from, drawn.to) * 100}%`, width: `${Math.abs(drawn.to - drawn.from) * 100}%` }}
          />
        )}
      </div>
      <figcaption className="runs-bars__words small quiet" aria-hidden="true">
        <span>{dateTimeText(histogram.fromMs, true)}</span>
        <span className="runs-bars__pointed">{pointed === undefined ? "" : barText(pointed)}</span>
        <span>{dateTimeText(histogram.toMs, true)}</span>
      </figcaption>
    </figure>
  );
}

function BarShape({ bar, at, countMax }: { readonly bar: HistogramBar; readonly at: number; readonly countMax: number }) {
  if (bar.count === 0) return null;
  // A single one among thousands is visible, too.
  const height = Math.max(0.06, bar.count / countMax);
  const failed = bar.failed === 0 ? 0 : Math.max(0.06, (height * bar.failed) / bar.count);
  return (
    <>
      <rect className="runs-bars__bar" x={at + 0.1} width={0.8} y={1 - height} height={height} />
      {failed > 0 && <rect className="runs-bars__bar--failed" x={at + 0.1} width={0.8} y={1 - failed} height={failed} />}
    </>
  );
}

function barText({ fromMs, toMs, count, failed }: HistogramBar): string {
  const failures = failed === 0 ? "" : `, ${failed.toLocaleString("en")} failed`;
  return `${dateTimeText(fromMs, true)}, ${durationText(toMs - fromMs)}: ${count.toLocaleString("en")} created${failures}`;
}

function summaryOf({ bars, fromMs, toMs, countMax }: InvocationHistogram): string {
  const sum = (of: (bar: HistogramBar) => number) => bars.reduce((total, bar) => total + of(bar), 0).toLocaleString("en");
  const each = durationText((toMs - fromMs) / HISTOGRAM_BARS);
  return `Invocations by time of creation: ${sum(({ count }) => count)}, of which ${sum(({ failed }) => failed)} failed; at most ${countMax.toLocaleString("en")} in ${each}`;
}
