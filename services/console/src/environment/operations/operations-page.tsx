/** Changes that can be undone, and those of the last hour. `?show=` opens the undo of one. */
import type { OperationView } from "@perdure/admin-client";
import { Link } from "wouter";
import {
  Badge,
  Button,
  Empty,
  Loaded,
  Moment,
  Page,
  ShortId,
  Table,
  type TableColumn,
  type Tone,
  useNow,
} from "../../kit/index.js";
import { useAddress } from "../address.js";
import { useEnvironment } from "../environment.js";
import { starterOf } from "../invocations/verbs.js";
import { LIVE_MS, useRequest } from "../request.js";
import { OPERATIONS_SHOWN_MAX } from "./limits.js";
import { invocationsText, leftMs, leftText, operationTitle, outcomeText } from "./operation-text.js";
import { UndoDialog } from "./undo-dialog.js";

const TONES: Readonly<Record<string, Tone>> = { undoable: "info", undoing: "warn", undone: "good", expired: "idle" };

export default function OperationsPage() {
  const operations = useRequest(["operations"], ({ admin }, signal) => admin.operations.list({ signal }), { everyMs: LIVE_MS });
  const [parameters, change] = useAddress();
  const shown = parameters.get("show");
  return (
    <Page
      title="Operations"
      lead="Changes of invocations and state, and deletions, that can be undone, and those of the last hour."
      actions={
        <Link href="/invocations?batches" className="button button--quiet">
          Batches
        </Link>
      }
    >
      <Loaded query={operations}>
        {(all) => <OperationTable all={all} receivedAtMs={operations.dataUpdatedAt} onShow={(id) => change({ show: id })} />}
      </Loaded>
      {shown !== null && <UndoDialog key={shown} id={shown} onClose={() => change({ show: undefined })} />}
    </Page>
  );
}

interface OperationTableProps {
  readonly all: readonly OperationView[];
  readonly receivedAtMs: number;
  readonly onShow: (id: string) => void;
}

function OperationTable({ all, receivedAtMs, onShow }: OperationTableProps) {
  const columns: readonly TableColumn<OperationView>[] = [
    { name: "Operation", cell: ({ operation }) => operation },
    { name: "Applied to", cell: (operation) => <Subject operation={operation} /> },
    { name: "State", cell: (operation) => <State operation={operation} receivedAtMs={receivedAtMs} /> },
    { name: "Started", cell: ({ started_at: at }) => <Moment at={at} /> },
    { name: "Started by", cell: ({ started_by: by }) => starterOf(by) },
    { name: "Reason", cell: ({ reason }) => reason ?? "–" },
    {
      name: "Actions",
      isNameHidden: true,
      cell: (operation) => <ShowButton operation={operation} onShow={() => onShow(operation.id)} />,
    },
  ];
  return (
    <>
      <Table
        label="Operations"
        rows={all.slice(0, OPERATIONS_SHOWN_MAX)}
        keyOf={({ id }) => id}
        columns={columns}
        empty={<NoOperations />}
      />
      {all.length > OPERATIONS_SHOWN_MAX && (
        <p className="quiet small">
          The newest {OPERATIONS_SHOWN_MAX} of {all.length.toLocaleString("en")} operations. <code>perdure operations</code> lists
          all of them.
        </p>
      )}
    </>
  );
}

/** The invocation, the batch with the results of each, or the name of another thing. */
function Subject({ operation }: { readonly operation: OperationView }) {
  const { invocation_id: invocation, batch_id: batch, subject, matched } = operation;
  if (subject !== null) return subject;
  if (batch !== null) {
    return <Link href={`/invocations?batches=${encodeURIComponent(batch)}`}>{invocationsText(matched)}</Link>;
  }
  if (invocation === null) return invocationsText(matched);
  return (
    <Link href={`/invocations/${encodeURIComponent(invocation)}`}>
      <ShortId id={invocation} />
    </Link>
  );
}

function State({ operation, receivedAtMs }: Pick<OperationTableProps, "receivedAtMs"> & { readonly operation: OperationView }) {
  const left = leftMs(operation, receivedAtMs, useNow());
  // The next answer of the server has it.
  const state = operation.state === "undoable" && left === 0 ? "expired" : operation.state;
  const { undo } = operation;
  return (
    <span className="row">
      <Badge tone={undo !== null && undo.failed > 0 ? "warn" : (TONES[state] ?? "info")}>{state}</Badge>
      {left > 0 && <span className="small">{leftText(left)} left</span>}
      {undo !== null && <span className="small">{outcomeText(undo, operation)}</span>}
    </span>
  );
}

function ShowButton({ operation, onShow }: { readonly operation: OperationView; readonly onShow: () => void }) {
  const { forbidden } = useEnvironment();
  const isUndoable = operation.state === "undoable";
  if (!isUndoable && operation.undo === null) return null;
  return (
    <Button
      isSmall
      forbidden={isUndoable ? forbidden : undefined}
      aria-label={`${isUndoable ? "Undo" : "Outcome of the undo of"} ${operationTitle(operation)} …`}
      onClick={onShow}
    >
      {isUndoable ? "Undo …" : "Outcome …"}
    </Button>
  );
}

function NoOperations() {
  return (
    <Empty title="Nothing to undo">
      <p>
        Kill or purge invocations in <Link href="/invocations">the list</Link>, or cancel some that have not started, or edit
        state: such changes are listed here, and can be undone for as long as the setting <code>undo.window</code> allows, ten
        minutes by default.
      </p>
    </Empty>
  );
}
