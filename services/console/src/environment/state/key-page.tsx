/** The state of one key: view and edit it, without overwriting a concurrent change unseen. */
import type { KeyState } from "@perdure/admin-client";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import {
  Breakable,
  Button,
  Confirmation,
  Empty,
  Facts,
  Loaded,
  Page,
  ProblemNote,
  Section,
  Snippet,
  Table,
  useToast,
} from "../../kit/index.js";
import { useSegments } from "../address.js";
import { useEnvironment } from "../environment.js";
import { useUndoOffer } from "../operations/undo-message.js";
import { LIVE_MS, useChange, useRequest } from "../request.js";
import { changedBeside, clashesOf, type StateChanges } from "./changes.js";
import { ClashDialog } from "./clash-dialog.js";
import { EntryDialog } from "./entry-dialog.js";
import { ExpirySection } from "./expiry.js";
import { VALUE_CHARS_SHOWN } from "./limits.js";
import { OccupancySection, useOccupancy } from "./occupancy.js";
import { type Saved, saveState } from "./save-state.js";
import { shownValue, sizeText } from "./state-values.js";
import "./state.css";

export default function KeyPage() {
  const [service = "", key = ""] = useSegments(2);
  const state = useRequest(["state", service, key], ({ admin }, signal) => admin.state.read(service, key, { signal }), {
    everyMs: LIVE_MS,
  });
  const occupancy = useOccupancy(service, key);
  return (
    <Page
      title={`${service} ${key}`}
      heading={
        <>
          <Link className="state__link" href={`/state?service=${encodeURIComponent(service)}`}>
            {service}
          </Link>{" "}
          / <Breakable text={key} />
        </>
      }
      lead="State entries of this key."
    >
      <OccupancySection query={occupancy} />
      <ExpirySection place={{ service, key }} />
      <Loaded query={state}>
        {(now) => (
          <Entries key={`${service}/${key}`} place={{ service, key }} now={now} isHeld={occupancy.data?.holder !== undefined} />
        )}
      </Loaded>
    </Page>
  );
}

interface StateEdit {
  readonly before: KeyState;
  readonly changes: StateChanges;
}

interface EntriesProps {
  readonly place: { readonly service: string; readonly key: string };
  readonly now: KeyState;
  readonly isHeld: boolean;
}

/** The edited entry; `before` is the state at the beginning of the edit. */
type Editing =
  | { readonly kind: "entry"; readonly name: string | undefined; readonly before: KeyState }
  | { readonly kind: "remove"; readonly name: string; readonly before: KeyState }
  | { readonly kind: "clear"; readonly before: KeyState }
  | { readonly kind: "clash"; readonly theirs: KeyState; readonly edit: StateEdit };

const QUEUED_TEXT =
  "The change is applied after the running invocation of this key, and dropped if that invocation changes the state first.";

function Entries({ place: { service, key }, now, isHeld }: EntriesProps) {
  const { forbidden } = useEnvironment();
  const toast = useToast();
  const offerUndo = useUndoOffer();
  const [editing, setEditing] = useState<Editing>();
  const close = () => setEditing(undefined);
  const save = useChange<StateEdit, Saved>(
    ({ admin }, { before, changes }) => saveState(admin, service, key, before, changes, delay),
    {
      onDone: (saved, edit) => {
        if (saved.kind === "changedMeanwhile") return setEditing({ kind: "clash", theirs: saved.theirs, edit });
        close();
        const title = `State of ${service}/${key} ${saved.kind === "applied" ? "saved" : "is to change"}`;
        if (saved.kind === "waits") toast.done("Queued", QUEUED_TEXT);
        if (saved.operation !== undefined) offerUndo(title, saved.operation);
        else if (saved.kind === "applied") toast.done(title);
      },
    },
  );
  const begin = (next: Editing) => {
    save.reset();
    setEditing(next);
  };
  const names = [...now.entries.keys()].sort();
  const rows = names.map((name) => ({ name, bytes: now.entries.get(name) ?? new Uint8Array() }));
  const total = rows.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const problem = save.isError ? <ProblemNote cause={save.error} title="The state was not changed." /> : undefined;
  return (
    <>
      <Section
        title="Entries"
        actions={
          <div className="row">
            <Button forbidden={forbidden} onClick={() => begin({ kind: "entry", name: undefined, before: now })}>
              Add entry
            </Button>
            {rows.length > 0 && (
              <Button forbidden={forbidden} onClick={() => begin({ kind: "clear", before: now })}>
                Clear all
              </Button>
            )}
          </div>
        }
      >
        {editing === undefined && problem}
        <p className="state__note small">
          Changes apply between two invocations of this key
          {isHeld && "; the key is locked now, so a change waits until that invocation is done"}.
        </p>
        <EntryTable
          label={`Entries of ${service} ${key}`}
          rows={rows}
          onEdit={(name) => begin({ kind: "entry", name, before: now })}
          onRemove={(name) => begin({ kind: "remove", name, before: now })}
        />
        {rows.length > 0 && (
          <Facts
            facts={[
              ["Entries", rows.length.toLocaleString()],
              ["Size", sizeText(total)],
              ["Version", <code key="version">{now.version}</code>],
            ]}
          />
        )}
      </Section>
      {editing !== undefined && (
        <EditDialog
          editing={editing}
          keyText={key}
          isBusy={save.isPending}
          problem={problem}
          onClose={close}
          onSave={(edit) => save.mutate(edit)}
        />
      )}
    </>
  );
}

interface EntryTableProps {
  readonly label: string;
  readonly rows: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  readonly onEdit: (name: string) => void;
  readonly onRemove: (name: string) => void;
}

function EntryTable({ label, rows, onEdit, onRemove }: EntryTableProps) {
  const { forbidden } = useEnvironment();
  return (
    <Table
      label={label}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { name: "Name", cell: ({ name }) => <code>{name}</code> },
        { name: "Value", cell: ({ bytes }) => <Value bytes={bytes} /> },
        { name: "Size", isNumber: true, cell: ({ bytes }) => <span className="nowrap">{sizeText(bytes.length)}</span> },
        {
          name: "Actions",
          isNameHidden: true,
          cell: ({ name }) => (
            <div className="row">
              <Button isSmall forbidden={forbidden} aria-label={`Edit ${name}`} onClick={() => onEdit(name)}>
                Edit
              </Button>
              <Button
                isSmall
                appearance="bare"
                forbidden={forbidden}
                isDanger
                aria-label={`Remove ${name}`}
                onClick={() => onRemove(name)}
              >
                Remove
              </Button>
            </div>
          ),
        },
      ]}
      empty={
        <Empty title="This key has no state">
          <p>Entries appear here when a handler sets them, or when you add them.</p>
          <Snippet label="handler code" text={'ctx.set("left", 42);'} />
        </Empty>
      }
    />
  );
}

interface EditDialogProps {
  readonly editing: Editing;
  readonly keyText: string;
  readonly isBusy: boolean;
  readonly problem: ReactNode;
  readonly onClose: () => void;
  readonly onSave: (edit: StateEdit) => void;
}

function EditDialog({ editing, keyText, onSave, ...dialog }: EditDialogProps) {
  switch (editing.kind) {
    case "entry":
      return (
        <EntryDialog
          {...dialog}
          name={editing.name}
          bytes={editing.name === undefined ? undefined : editing.before.entries.get(editing.name)}
          others={[...editing.before.entries.keys()]}
          onSave={(name, bytes) => onSave({ before: editing.before, changes: new Map([[name, bytes]]) })}
        />
      );
    case "remove":
      return (
        <Confirmation
          {...dialog}
          title={`Remove ${editing.name}?`}
          isOpen
          verb="Remove"
          onConfirm={() => onSave({ before: editing.before, changes: new Map([[editing.name, undefined]]) })}
        >
          <p>Handlers of this key no longer see the entry.</p>
        </Confirmation>
      );
    case "clear":
      return (
        <Confirmation
          {...dialog}
          title={`Clear all state of ${keyText}?`}
          isOpen
          verb="Clear"
          typed={keyText}
          onConfirm={() => onSave({ before: editing.before, changes: removalOf(editing.before) })}
        >
          <p>{editing.before.entries.size} entries are removed.</p>
        </Confirmation>
      );
    case "clash": {
      const { edit, theirs } = editing;
      return (
        <ClashDialog
          clashes={clashesOf(edit.before.entries, theirs.entries, edit.changes)}
          beside={changedBeside(edit.before.entries, theirs.entries, edit.changes)}
          isBusy={dialog.isBusy}
          problem={dialog.problem}
          onMine={() => onSave({ before: theirs, changes: edit.changes })}
          onTheirs={dialog.onClose}
        />
      );
    }
  }
}

function Value({ bytes }: { readonly bytes: Uint8Array }) {
  const { form, text } = shownValue(bytes);
  return (
    <div className="stack stack--tight">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <pre className="state__value" tabIndex={0}>
        {text.slice(0, VALUE_CHARS_SHOWN)}
        {text.length > VALUE_CHARS_SHOWN && "…"}
      </pre>
      <span className="quiet small">
        {{ json: "JSON", text: "text", hex: "hexadecimal" }[form]}
        {text.length > VALUE_CHARS_SHOWN && ", truncated; open the editor for the full value"}
      </span>
    </div>
  );
}

const removalOf = ({ entries }: KeyState): StateChanges => new Map([...entries.keys()].map((name) => [name, undefined]));

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
