/** A month as a bar for each day. The numbers are in the table below it and in its text for screen readers. */
import "./usage.css";

interface DayBarsProps {
  readonly label: string;
  readonly days: readonly { readonly day: string; readonly value: number }[];
  readonly text: (value: number) => string;
}

const HEIGHT = 96;
const PITCH = 20;

export function DayBars({ label, days, text }: DayBarsProps) {
  const most = days.reduce((max, { value }) => Math.max(max, value), 0);
  const sum = days.reduce((total, { value }) => total + value, 0);
  const busiest = days.find(({ value }) => value === most);
  const summary = most === 0 ? `${label}: none` : `${label}: ${text(sum)} in total, peak on ${busiest?.day} with ${text(most)}`;
  return (
    <figure className="day-bars">
      <figcaption className="row row--spread small">
        <strong>{label}</strong>
        <span className="quiet">peak per day: {text(most)}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={summary}
        viewBox={`0 0 ${Math.max(1, days.length) * PITCH} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="day-bars__plot"
      >
        {days.map(({ day, value }, n) => {
          const height = most === 0 ? 0 : Math.max(value > 0 ? 2 : 0, (value / most) * (HEIGHT - 4));
          return (
            <g key={day}>
              <title>{`${day}: ${text(value)}`}</title>
              <rect x={n * PITCH} y={0} width={PITCH} height={HEIGHT} className="day-bars__room" />
              <rect x={n * PITCH + 2} y={HEIGHT - height} width={PITCH - 4} height={height} className="day-bars__bar" />
            </g>
          );
        })}
      </svg>
      <div className="row row--spread quiet small" aria-hidden>
        <span>{days[0]?.day}</span>
        <span>{days.at(-1)?.day}</span>
      </div>
    </figure>
  );
}

interface QuotaProps {
  readonly label: string;
  readonly used: string;
  readonly max: string;
  readonly percent: number;
  readonly tone: "good" | "warn" | "bad";
  /** Expected usage, as text; undefined when there is no forecast. */
  readonly forecast?: string | undefined;
}

export function Quota({ label, used, max, percent, tone, forecast }: QuotaProps) {
  return (
    <div className="quota">
      <div className="row row--spread">
        <strong>{label}</strong>
        <span>{percent} %</span>
      </div>
      <div className="quota__room" aria-hidden>
        {/* The length of the bar is the value; beyond the quota it is full. */}
        <div className={`quota__used quota__used--${tone}`} style={{ width: `${Math.min(100, percent)}%` }} />
      </div>
      <div className="quiet small">
        {used} of {max}
        {forecast !== undefined && `, ${forecast}`}
      </div>
    </div>
  );
}
