/** Conditions of the environment that caused an event and hold: a stuck subscription, a limit at its maximum. */
import type { SqlRow } from "@perdure/admin-client";
import { Link } from "wouter";
import { Breakable, Moment, Section, Table, type TableColumn } from "../../kit/index.js";
import { conditionHref, conditionsOf, conditionText, type ShownCondition } from "./condition-rows.js";

const COLUMNS: readonly TableColumn<ShownCondition>[] = [
  { name: "Condition", cell: conditionText },
  {
    name: "Subject",
    cell: (condition) => (
      <Link href={conditionHref(condition)}>
        <Breakable text={condition.subject} />
      </Link>
    ),
  },
  { name: "Handler", cell: ({ target }) => (target === undefined ? <span className="quiet">–</span> : <code>{target}</code>) },
  { name: "Since", cell: ({ since }) => <Moment at={since} /> },
];

export default function Conditions({ rows }: { readonly rows: readonly SqlRow[] }) {
  return (
    <Section title="Subscriptions and limits">
      <Table
        label="Subscriptions and limits that need attention"
        rows={conditionsOf(rows)}
        columns={COLUMNS}
        keyOf={({ type, subject }) => `${type} ${subject}`}
      />
    </Section>
  );
}
