/** Edits one entry of a key as JSON, text or hexadecimal digits; it is checked before it is sent. */
import { type FormEvent, type ReactNode, useState } from "react";
import { Button, ChoiceField, CodeEditor, Dialog, DialogActions, TextField } from "../../kit/index.js";
import { bytesOf, shownValue, type ValueForm, valueAs } from "./state-values.js";

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

export function EntryDialog({ name, bytes, others, isBusy, problem, onClose, onSave }: EntryDialogProps) {
  const first = bytes === undefined ? { form: "json" as ValueForm, text: "" } : shownValue(bytes);
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
