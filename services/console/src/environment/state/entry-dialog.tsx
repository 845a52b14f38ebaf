/** Edits one entry of a key as JSON, text or hexadecimal digits; it is checked before it is sent. */
import { type FormEvent, type ReactNode, useDeferredValue, useMemo, useState } from "react";
import { Button, ChoiceField, CodeEditor, Dialog, DialogActions, TextField } from "../../kit/index.js";
import { lineDiff } from "../../kit/line-diff.js";
import { LineDiffView } from "../../kit/line-diff-view.js";
import { bytesOf, type ShownValue, sameBytes, shownValue, type ValueForm, valueAs } from "./state-values.js";

interface EntryDialogProps {
  /** Undefined: a new one. */
  readonly name: string | undefined;
  readonly bytes: Uint8Array | undefined;
  /** Names that exist already. */
  readonly others: readonly string[];
  readonly isBusy: boolean;
  readonly problem: ReactNode;
  readonly onClose: () => void;
  readonly onSave: (name: string, bytes: Uint8Array) => void;
}

const CHOICES = [
  { value: "json", label: "JSON" },
  { value: "text", label: "Text" },
  { value: "hex", label: "Hexadecimal" },
] as const;

const EMPTY: ShownValue = { form: "json", text: "" };

export function EntryDialog({ name, bytes, others, isBusy, problem, onClose, onSave }: EntryDialogProps) {
  const first = bytes === undefined ? EMPTY : shownValue(bytes);
  const [newName, setNewName] = useState(name ?? "");
  const [form, setForm] = useState<ValueForm>(first.form);
  const [text, setText] = useState(first.text);
  const [isTried, setTried] = useState(false);
  const read = bytesOf(text, form);
  const nameProblem =
    name !== undefined
      ? undefined
      : newName === ""
        ? "Enter a name."
        : others.includes(newName)
          ? "An entry with this name exists."
          : undefined;
  const turn = (next: ValueForm) => {
    const now = bytesOf(text, form);
    const turned = now.ok ? valueAs(now.bytes, next) : undefined;
    if (turned !== undefined) setText(turned);
    setForm(next);
  };
  const save = () => {
    setTried(true);
    if (read.ok && nameProblem === undefined && !isBusy) onSave(newName, read.bytes);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save();
  };
  return (
    <Dialog title={name === undefined ? "Add entry" : `Edit ${name}`} isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        {name === undefined && (
          <TextField
            label="Name"
            value={newName}
            onChange={setNewName}
            problem={isTried ? nameProblem : undefined}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        <ChoiceField label="Format" value={form} choices={CHOICES} onChange={turn} />
        <CodeEditor
          label="Value"
          language={form === "json" ? "json" : "text"}
          value={text}
          onChange={setText}
          onSubmit={save}
          problem={isTried && !read.ok ? read.problem : undefined}
        />
        {bytes !== undefined && read.ok && <Change before={bytes} after={read.bytes} form={form} />}
        {problem}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary" isBusy={isBusy}>
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface ChangeProps {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly form: ValueForm;
}

/** What saving would change; JSON is compared formatted, so that spaces alone are no difference. */
function Change({ before, after, form }: ChangeProps) {
  const shownAfter = useDeferredValue(after);
  const lines = useMemo(() => {
    const textOf = (bytes: Uint8Array) => valueAs(bytes, form) ?? shownValue(bytes).text;
    return lineDiff(textOf(before), textOf(shownAfter));
  }, [before, shownAfter, form]);
  if (sameBytes(before, shownAfter)) return <p className="quiet small">No changes.</p>;
  return (
    <div className="stack stack--tight">
      <h3>Changes</h3>
      {lines.length === 0 ? <p className="quiet small">Only spaces change.</p> : <LineDiffView label="Changes" lines={lines} />}
    </div>
  );
}
