/** A JSON schema as a table, and raw on request. */
import { Snippet, Table, type TableColumn } from "../../kit/index.js";
import { LINES_MAX, type SchemaLine, schemaLines } from "./schema-lines.js";
import "./schema.css";

const COLUMNS: readonly TableColumn<SchemaLine>[] = [
  { name: "Field", cell: ({ path }) => (path === "" ? <span className="quiet">the value</span> : <code>{path}</code>) },
  {
    name: "Type",
    cell: ({ type, isRequired }) => (
      <>
        {type} {!isRequired && <span className="quiet nowrap">optional</span>}
      </>
    ),
  },
  {
    name: "Description",
    cell: ({ description, limits }) => (
      <>
        {description !== undefined && <div>{description}</div>}
        {limits.length > 0 && <div className="quiet small">{limits.join(" · ")}</div>}
      </>
    ),
  },
];

export function SchemaView({ schema, label }: { readonly schema: unknown; readonly label: string }) {
  const lines = schemaLines(schema);
  return (
    <div className="stack stack--tight">
      <Table label={label} rows={lines} columns={COLUMNS} keyOf={({ path }) => path} />
      {lines.length >= LINES_MAX && <p className="quiet small">Truncated: the full schema is below.</p>}
      <details>
        <summary className="small">JSON schema</summary>
        <Snippet label={`${label} as JSON`} text={JSON.stringify(schema, null, 2)} />
      </details>
    </div>
  );
}
