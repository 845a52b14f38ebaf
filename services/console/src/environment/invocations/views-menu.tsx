/** Saved filters in a menu, two clicks away. */
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { Button, Dialog, DialogActions, Icon, Menu, TextField } from "../../kit/index.js";
import { useShared } from "../shared.js";
import { VIEW_NAME_CHARS_MAX } from "./limits.js";
import { hrefOfView, type View, viewsOf, withoutView, withView } from "./views.js";

interface ViewsMenuProps {
  /** Filter of the current list. */
  readonly query: string;
}

export function ViewsMenu({ query }: ViewsMenuProps) {
  const [, go] = useLocation();
  const { value: views, change, isShared, forbidden } = useShared("views", viewsOf);
  const [open, setOpen] = useState<"save" | "delete">();
  const close = () => setOpen(undefined);
  return (
    <>
      <Menu
        trigger={
          <Button>
            <Icon name="views" /> Views
          </Button>
        }
        actions={[
          ...views.map((view) => ({ label: view.name, icon: "views" as const, onSelect: () => go(hrefOfView(view)) })),
          { label: "Save view …", icon: "add", forbidden, onSelect: () => setOpen("save") },
          {
            label: "Delete view …",
            icon: "delete",
            forbidden: views.length === 0 ? "No view is saved" : forbidden,
            onSelect: () => setOpen("delete"),
          },
        ]}
      />
      {open === "save" && (
        <SaveDialog
          views={views}
          isShared={isShared}
          onClose={close}
          onSave={(name) => change((all) => withView(all, { name, query }), close)}
        />
      )}
      {open === "delete" && (
        <DeleteDialog views={views} onClose={close} onDelete={(name) => change((all) => withoutView(all, name))} />
      )}
    </>
  );
}

interface SaveDialogProps {
  readonly views: readonly View[];
  readonly isShared: boolean;
  readonly onClose: () => void;
  readonly onSave: (name: string) => void;
}

function SaveDialog({ views, isShared, onClose, onSave }: SaveDialogProps) {
  const [name, setName] = useState("");
  const trimmed = name.trim();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (trimmed !== "") onSave(trimmed);
  };
  return (
    <Dialog title="Save view" isOpen onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          maxLength={VIEW_NAME_CHARS_MAX}
          autoComplete="off"
          hint={
            views.some((each) => each.name === trimmed)
              ? "Replaces the view of this name."
              : `The filter and the order are kept ${isShared ? "for all users of this environment" : "in this browser"}.`
          }
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary" forbidden={trimmed === "" ? "Enter a name first" : undefined}>
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface DeleteViewDialogProps {
  readonly views: readonly View[];
  readonly onClose: () => void;
  readonly onDelete: (name: string) => void;
}

function DeleteDialog({ views, onClose, onDelete }: DeleteViewDialogProps) {
  return (
    <Dialog title="Delete views" isOpen onClose={onClose}>
      <div className="stack">
        {views.length === 0 && <p className="quiet">No view is saved.</p>}
        <ul className="runs-views">
          {views.map(({ name }) => (
            <li key={name} className="row row--spread">
              <span className="runs-views__name">{name}</span>
              <Button isSmall appearance="bare" isDanger aria-label={`Delete ${name}`} onClick={() => onDelete(name)}>
                Delete
              </Button>
            </li>
          ))}
        </ul>
        <DialogActions>
          <Button appearance="primary" onClick={onClose}>
            Done
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
