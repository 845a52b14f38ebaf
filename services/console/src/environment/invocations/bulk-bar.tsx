/** The selection of the list, and the actions on it. */
import { useState } from "react";
import { Button } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { BulkDialog } from "./bulk-dialog.js";
import { type ListSelection, NOTHING } from "./selection.js";
import { BULK_VERBS, type BulkVerb, tooManyFor } from "./verbs.js";

interface BulkBarProps {
  readonly selection: ListSelection;
  /** Condition of the list; undefined when it has none. */
  readonly condition: string | undefined;
  /** Number of invocations that match the condition; undefined until it is loaded. */
  readonly total: number | undefined;
  readonly onSelect: (selection: ListSelection) => void;
}

export function BulkBar({ selection, condition, total, onSelect }: BulkBarProps) {
  const { forbidden } = useEnvironment();
  const [verb, setVerb] = useState<BulkVerb>();
  const isAll = selection.kind === "matching";
  const all = condition === undefined ? "all" : `all${total === undefined ? "" : ` (${total.toLocaleString("en")})`}`;
  return (
    <section className="runs-bulk" aria-label="Selection">
      <strong role="status">{isAll ? `All matching` : `${selection.ids.size.toLocaleString("en")} selected`}</strong>
      {!isAll && (
        <Button isSmall appearance="bare" onClick={() => onSelect({ kind: "matching" })}>
          Select {all}
        </Button>
      )}
      <Button isSmall appearance="bare" onClick={() => onSelect(NOTHING)}>
        Clear selection
      </Button>
      {BULK_VERBS.map((each) => (
        <Button key={each.verb} isSmall forbidden={forbidden ?? tooManyFor(selection)} onClick={() => setVerb(each)}>
          {each.label} …
        </Button>
      ))}
      {verb !== undefined && (
        <BulkDialog verb={verb} selection={selection} condition={condition} onClose={() => setVerb(undefined)} />
      )}
    </section>
  );
}
