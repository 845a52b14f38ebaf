/** The plan of a query, as the engine draws it. */
import { CopyButton } from "../../kit/index.js";
import { textOf } from "../rows.js";
import type { SqlResult } from "./result.js";

/** Rows of EXPLAIN have these two columns. */
export function isPlan({ columns }: SqlResult): boolean {
  return columns.length === 2 && columns.some(({ name }) => name === "plan_type") && columns.some(({ name }) => name === "plan");
}

export function PlanView({ result: { rows } }: { readonly result: SqlResult }) {
  return (
    <div className="stack stack--tight">
      {rows.map((row) => {
        const [type, plan] = [textOf(row, "plan_type") ?? "", textOf(row, "plan") ?? ""];
        return (
          <section key={type} className="card stack stack--tight" aria-label={`Plan: ${labelOf(type)}`}>
            <div className="row row--spread">
              <strong>{labelOf(type)}</strong>
              <CopyButton text={plan} what="Copy the plan" />
            </div>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
            <pre className="sql__plan" tabIndex={0}>
              {plan.trimEnd()}
            </pre>
          </section>
        );
      })}
    </div>
  );
}

/** `physical_plan` → `Physical plan`; a plan that was measured is called `analyzed_plan`. */
function labelOf(type: string): string {
  const text = type.replaceAll("_", " ");
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
