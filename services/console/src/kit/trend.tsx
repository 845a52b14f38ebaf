/** A small bar chart for one row of a list: amounts of a fixed number of periods. The amounts are beside it, or in its label, as text. */
import "./trend.css";

/** Amounts of the periods of a time range, oldest first. */
export interface TrendBars {
  readonly totals: readonly number[];
  /** The part of each total that needs attention, such as failures. It may be more than the total: calls complete later than they begin. */
  readonly bad: readonly number[];
}

const BAR_WIDTH = 4;
const HEIGHT = 20;
/** The least height of an amount that is not zero. */
const VISIBLE = 2;

export function Trend({ label, bars: { totals, bad } }: { readonly label: string; readonly bars: TrendBars }) {
  const most = Math.max(1, ...totals, ...bad);
  const heightOf = (amount: number) => (amount === 0 ? 0 : Math.max(VISIBLE, (amount / most) * HEIGHT));
  const width = totals.length * BAR_WIDTH;
  return (
    <svg className="trend" role="img" aria-label={label} viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT}>
      <title>{label}</title>
      <line className="trend__base" x1={0} x2={width} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {totals.map((total, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
        <Bar key={index} className="trend__bar" index={index} height={heightOf(total)} />
      ))}
      {bad.map((amount, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
        <Bar key={index} className="trend__bar trend__bar--bad" index={index} height={heightOf(amount)} />
      ))}
    </svg>
  );
}

interface BarProps {
  readonly className: string;
  readonly index: number;
  readonly height: number;
}

function Bar({ className, index, height }: BarProps) {
  if (height === 0) return null;
  return <rect className={className} x={index * BAR_WIDTH} width={BAR_WIDTH - 1} y={HEIGHT - height} height={height} />;
}
