/** A result as a chart, with the columns that it shows. */
import { useMemo, useState } from "react";
import { Chart, ChoiceField } from "../../kit/index.js";
import type { SqlResult } from "./result.js";
import { barChart, type ChartableColumns, lineChart } from "./result-chart.js";
import "./chart-view.css";

/** Values that no column has as its name, because names of columns are not empty. */
const ALL = "";
const NONE = "";

interface ChartViewProps {
  readonly result: SqlResult;
  readonly columns: ChartableColumns;
}

export function ChartView({ result, columns: { times, categories, numbers } }: ChartViewProps) {
  const [axis, setAxis] = useState(times[0] ?? categories[0] ?? "");
  const isTime = times.includes(axis);
  const [chosen, setChosen] = useState(isTime && categories.length === 0 ? ALL : (numbers[0] ?? ""));
  const [split, setSplit] = useState(categories[0] ?? NONE);
  const value = !isTime && chosen === ALL ? (numbers[0] ?? "") : chosen;
  const toChoice = (name: string) => ({ value: name, label: name });
  const allChoice = isTime && numbers.length > 1 ? [{ value: ALL, label: "All numbers" }] : [];
  return (
    <div className="stack stack--tight card">
      <div className="row sql-chart__choices">
        <ChoiceField label="Axis" value={axis} choices={[...times, ...categories].map(toChoice)} onChange={setAxis} />
        <ChoiceField label="Values" value={value} choices={[...allChoice, ...numbers.map(toChoice)]} onChange={setChosen} />
        {isTime && categories.length > 0 && (
          <ChoiceField
            label="Split by"
            value={split}
            choices={[{ value: NONE, label: "Not split" }, ...categories.map(toChoice)]}
            onChange={setSplit}
          />
        )}
      </div>
      {isTime ? (
        <Lines
          result={result}
          time={axis}
          values={value === ALL ? numbers : [value]}
          split={split === NONE ? undefined : split}
        />
      ) : (
        <Bars result={result} category={axis} value={value} />
      )}
    </div>
  );
}

const SUMMED = "Values of rows with the same place in the chart are added.";

interface LinesProps {
  readonly result: SqlResult;
  readonly time: string;
  readonly values: readonly string[];
  readonly split: string | undefined;
}

function Lines({ result, time, values, split }: LinesProps) {
  const valueNames = values.join("\n");
  const { times, series, hidden, isSummed } = useMemo(
    () => lineChart(result, { time, values: valueNames.split("\n"), split }),
    [result, time, valueNames, split],
  );
  return (
    <>
      <Chart label={values.join(", ")} times={times} series={series} height={260} />
      <Remarks
        remarks={[hidden > 0 && `${hidden.toLocaleString()} lines with smaller sums are not shown.`, isSummed && SUMMED]}
      />
    </>
  );
}

interface BarChartProps {
  readonly result: SqlResult;
  readonly category: string;
  readonly value: string;
}

function Bars({ result, category, value }: BarChartProps) {
  const { bars, hidden, isSummed } = useMemo(() => barChart(result, category, value), [result, category, value]);
  const most = bars.reduce((greatest, bar) => Math.max(greatest, Math.abs(bar.value)), 0);
  return (
    <>
      <ul className="sql-chart__bars" aria-label={`${value} by ${category}`}>
        {bars.map((bar) => (
          <li key={bar.label} className="sql-chart__bar">
            <span className="sql-chart__label" title={bar.label}>
              {bar.label}
            </span>
            <span className="sql-chart__room" aria-hidden="true">
              <span
                className={`sql-chart__fill${bar.value < 0 ? " sql-chart__fill--negative" : ""}`}
                style={{ width: `${most === 0 ? 0 : (Math.abs(bar.value) / most) * 100}%` }}
              />
            </span>
            <span className="number">{bar.value.toLocaleString(undefined, { maximumFractionDigits: 2 })}</span>
          </li>
        ))}
      </ul>
      <Remarks remarks={[hidden > 0 && `${hidden.toLocaleString()} more values are not shown.`, isSummed && SUMMED]} />
    </>
  );
}

function Remarks({ remarks }: { readonly remarks: readonly (string | false)[] }) {
  const text = remarks.filter((remark) => remark !== false).join(" ");
  return text === "" ? null : <p className="quiet small">{text}</p>;
}
