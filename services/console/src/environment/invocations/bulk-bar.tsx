/** Why: what was chosen in the list, and what can be done to it. */
import { useState } from "react";
import { Button } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { BulkDialog } from "./bulk-dialog.js";
import { NOTHING, type Selection } from "./selection.js";
import { BULK_VERBS, type BulkVerb, tooManyFor } from "./verbs.js";

export interface BulkBarProps {
  readonly selection: Selection;
  /** Of the list; undefined when it has none. */
  readonly condition: string | undefined;
  /** Length of the list. */
  readonly listed: number;
  readonly isWhole: boolean;
  readonly onSelect: (selection: Selection) => void;
}

export function BulkBar({ selection, condition, listed, isWhole, onSelect }: BulkBarProps) {
  const { forbidden } = useEnvironment();
  const [verb, setVerb] = useState<BulkVerb>();
  const isAll = selection.kind === "matching";
  const all = condition === undefined ? "all" : `all${isWhole ? ` (${listed.toLocaleString("en")})` : ""}`;
  return (
    <section className="runs-bulk" aria-label="Selection">
      <strong role="status">{isAll ? `All matching` : `${selection.ids.size.toLocaleString("en")} selected`}</strong>
      {!isAll && (
        <Button isSmall look="bare" onClick={() => onSelect({ kind: "matching" })}>
          Select {all}
        </Button>
      )}
      <Button isSmall look="bare" onClick={() => onSelect(NOTHING)}>
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
