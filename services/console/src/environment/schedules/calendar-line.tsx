/** Shows when schedules fire, and which fire at the same time; the text is beside the picture. */

import type { ScheduleView } from "@perdure/admin-client";
import { Fragment } from "react";
import { dateTimeText } from "../../kit/time-text.js";
import { countsWithin, readWhen, timesWithin } from "./calendar.js";
import { DRAWN_MAX, HEAT_CELLS, HEAT_COUNTED_MAX, MARKS_MAX, TIMES_COUNTED_MAX } from "./limits.js";

const SPANS = { day: 86_400_000, week: 7 * 86_400_000 } as const;
export type CalendarSpan = keyof typeof SPANS;
/** A part of a heat strip in which a schedule fires at all is this visible. */
const HEAT_FAINTEST = 0.2;

export interface CalendarLineProps {
  readonly schedules: readonly ScheduleView[];
  readonly fromMs: number;
  readonly span: CalendarSpan;
}

export function CalendarLine({ schedules, fromMs, span }: CalendarLineProps) {
  const shown = schedules.filter(({ status }) => status === "active").slice(0, DRAWN_MAX);
  if (shown.length === 0) return <p className="quiet">No active schedules.</p>;
  const ticks = ticksOf(fromMs, span);
  return (
    <div className="card schedules__calendar">
      <span className="visually-hidden">Times are in your time zone.</span>
      <span />
      <svg className="schedules__line schedules__axis" aria-hidden="true">
        {ticks.map(({ at, text }, index) => (
          <text
            key={at}
            x={`${at}%`}
            y="14"
            textAnchor={anchorOf(at)}
            className={index % 2 === 0 ? "schedules__hour" : "schedules__hour schedules__hour--second"}
          >
            {text}
          </text>
        ))}
      </svg>
      <span className="schedules__count" />
      {shown.map((schedule) => (
        <Line key={schedule.id} schedule={schedule} fromMs={fromMs} span={span} ticks={ticks} />
      ))}
    </div>
  );
}

interface CalendarTick {
  /** Percent of the width. */
  readonly at: number;
  readonly text: string;
}

function Line({
  schedule: { name, cron, zone, ...rest },
  fromMs,
  span,
  ticks,
}: {
  readonly schedule: ScheduleView;
  readonly fromMs: number;
  readonly span: CalendarSpan;
  readonly ticks: readonly CalendarTick[];
}) {
  const when = readWhen({ cron, zone, startAt: momentOf(rest["start_at"]), endAt: momentOf(rest["end_at"]) });
  const times = when.ok ? timesWithin(when, fromMs, fromMs + SPANS[span], TIMES_COUNTED_MAX) : [];
  const x = (atMs: number): string => `${((atMs - fromMs) / SPANS[span]) * 100}%`;
  const first = times[0];
  const label = when.ok ? countText(times.length) : "cannot be shown";
  return (
    <Fragment>
      <span className="schedules__name" title={name}>
        {name}
      </span>
      <svg
        className="schedules__line"
        role="img"
        aria-label={`${name}: ${label}${first === undefined ? "" : `, first ${dateTimeText(first)}`}`}
      >
        {ticks.map(({ at }) => (
          <line key={at} x1={`${at}%`} x2={`${at}%`} y1="0" y2="24" className="schedules__rule" />
        ))}
        <line x1="0" x2="100%" y1="12" y2="12" className="schedules__rule" />
        {when.ok && times.length > MARKS_MAX ? (
          <Heat counts={countsWithin(when, fromMs, fromMs + SPANS[span], { cellCount: HEAT_CELLS, max: HEAT_COUNTED_MAX })} />
        ) : (
          times.map((at) => <line key={at} x1={x(at)} x2={x(at)} y1="4" y2="20" className="schedules__mark" />)
        )}
      </svg>
      <span className="schedules__count quiet small nowrap">{label}</span>
    </Fragment>
  );
}

/** Darker where it fires more often. */
function Heat({ counts }: { readonly counts: readonly number[] }) {
  const most = Math.max(...counts);
  const cells = counts.map((count, cell) => ({ at: (cell / counts.length) * 100, share: count / most }));
  return cells
    .filter(({ share }) => share > 0)
    .map(({ at, share }) => (
      <rect
        key={at}
        x={`${at}%`}
        y="4"
        height="16"
        width={`${100 / counts.length}%`}
        fillOpacity={HEAT_FAINTEST + (1 - HEAT_FAINTEST) * share}
        className="schedules__heat"
      />
    ));
}

function countText(count: number): string {
  if (count === 0) return "none in this period";
  if (count >= TIMES_COUNTED_MAX) return `${TIMES_COUNTED_MAX.toLocaleString()} times or more`;
  return count === 1 ? "once" : `${count.toLocaleString()} times`;
}

/** Labels are centred below their ticks, but not beyond the ends of the axis. */
function anchorOf(at: number): "start" | "middle" | "end" {
  if (at < 8) return "start";
  return at > 92 ? "end" : "middle";
}

/** Every fourth hour, or each midnight. */
function ticksOf(fromMs: number, span: CalendarSpan): readonly CalendarTick[] {
  const ticks: CalendarTick[] = [];
  const at = new Date(fromMs);
  at.setMinutes(0, 0, 0);
  for (let i = 0; i <= SPANS[span] / 3_600_000; i++) {
    at.setTime(at.getTime() + 3_600_000);
    const hour = at.getHours();
    if (at.getTime() > fromMs + SPANS[span] || (span === "day" ? hour % 4 !== 0 : hour !== 0)) continue;
    const text = span === "day" ? `${String(hour).padStart(2, "0")}:00` : at.toLocaleDateString(undefined, { weekday: "short" });
    ticks.push({ at: ((at.getTime() - fromMs) / SPANS[span]) * 100, text });
  }
  return ticks;
}

function momentOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
