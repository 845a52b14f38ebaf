/** Input and output of an invocation, whole, without a search in the journal. */
import { type SqlRow, sqlText } from "@perdure/admin-client";
import { Loaded, Section } from "../../kit/index.js";
import { useRequest } from "../request.js";
import type { InvocationTimeline } from "./invocation-timeline.js";
import { StepValue } from "./value-view.js";

export function InputOutput({ timeline }: { readonly timeline: InvocationTimeline }) {
  const statement =
    `SELECT "index", entry_type, raw_length FROM sys_journal WHERE id = ${sqlText(timeline.id)} ` +
    `AND entry_type IN ('Command: Input', 'Command: Output') ORDER BY "index"`;
  const query = useRequest(["invocation", "ends", statement, timeline.isDone], ({ admin }, signal) =>
    admin.sql.query(statement, { signal }),
  );
  return (
    <Section title="Input and output">
      <Loaded query={query}>
        {(rows) => (
          <div className="inv-values">
            <End
              title="Input"
              id={timeline.id}
              row={find(rows, "Input")}
              none="Not available: the journal was deleted or not retained."
            />
            <End
              title="Output"
              id={timeline.id}
              row={find(rows, "Output")}
              none={timeline.isDone ? "No output in the journal." : "Not completed yet."}
            />
          </div>
        )}
      </Loaded>
    </Section>
  );
}

function find(rows: readonly SqlRow[], type: "Input" | "Output"): SqlRow | undefined {
  return rows.find((row) => row["entry_type"] === `Command: ${type}`);
}

interface EndProps {
  readonly title: string;
  readonly id: string;
  readonly row: SqlRow | undefined;
  readonly none: string;
}

function End({ title, id, row, none }: EndProps) {
  return (
    <div className="card stack stack--tight">
      <h3>{title}</h3>
      {row === undefined ? (
        <p className="quiet">{none}</p>
      ) : (
        <StepValue
          id={id}
          index={Number(row["index"])}
          of="argument"
          label={title.toLowerCase()}
          bytes={Number(row["raw_length"])}
        />
      )}
    </div>
  );
}
