/** The dialog of an operation on all invocations of a row. Loaded when it is first opened: the overview loads without it. */
import { conditionOf, type InvocationFilter } from "@perdure/admin-client";
import type { InvocationVerb } from "@perdure/admin-contract";
import { BulkDialog } from "../invocations/bulk-dialog.js";
import { BULK_VERBS } from "../invocations/verbs.js";
import "../invocations/invocations.css";

interface CauseBatchDialogProps {
  readonly verb: InvocationVerb;
  readonly filter: InvocationFilter;
  readonly onClose: () => void;
}

export default function CauseBatchDialog({ verb, filter, onClose }: CauseBatchDialogProps) {
  const bulk = BULK_VERBS.find((each) => each.verb === verb);
  if (bulk === undefined) return null;
  return <BulkDialog verb={bulk} selection={{ kind: "matching" }} condition={conditionOf(filter)} onClose={onClose} />;
}
