/** Rows of a finished query: as a table, as a chart, or as the plan that they describe. */
import { useState } from "react";
import { Button, download, durationText, Empty } from "../../kit/index.js";
import { ViewTabs } from "../../kit/view-tabs.js";
import { ChartView } from "./chart-view.js";
import { ROWS_MAX } from "./limits.js";
import { isPlan, PlanView } from "./plan-view.js";
import { csvOf, jsonOf, type SqlResult } from "./result.js";
import { chartableColumns } from "./result-chart.js";
import { ResultGrid } from "./result-grid.js";

export function ResultView({ result, tookMs }: { readonly result: SqlResult; readonly tookMs: number }) {
  const { rows, isCut } = result;
  return (
    <section className="stack stack--tight" aria-label="Query result">
      <div className="row row--spread">
        <p role="status">
          {rows.length.toLocaleString()} {rows.length === 1 ? "row" : "rows"} in {durationText(tookMs)}.
          {isCut && ` Truncated to the first ${ROWS_MAX.toLocaleString()} rows. Use a narrower condition or a LIMIT.`}
        </p>
        {rows.length > 0 && (
          <div className="row">
            <Button isSmall onClick={() => download(new Blob([csvOf(result)], { type: "text/csv;charset=utf-8" }), "result.csv")}>
              Export CSV
            </Button>
            <Button isSmall onClick={() => download(new Blob([jsonOf(result)], { type: "application/json" }), "result.json")}>
              Export JSON
            </Button>
          </div>
        )}
      </div>
      {rows.length === 0 ? (
        <Empty title="No rows">
          <p>The query returned no rows.</p>
        </Empty>
      ) : (
        <Rows result={result} />
      )}
    </section>
  );
}

function Rows({ result }: { readonly result: SqlResult }) {
  const [view, setView] = useState<"table" | "chart">("table");
  if (isPlan(result)) return <PlanView result={result} />;
  const columns = chartableColumns(result);
  if (columns === undefined) return <ResultGrid result={result} />;
  return (
    <ViewTabs
      label="View of the result"
      value={view}
      onChange={setView}
      tabs={[
        { value: "table", label: "Table", content: <ResultGrid result={result} /> },
        {
          value: "chart",
          label: "Chart",
          // Another statement has other columns.
          content: <ChartView key={result.columns.map(({ name }) => name).join()} result={result} columns={columns} />,
        },
      ]}
    />
  );
}
