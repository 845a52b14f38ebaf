/** Dialogs that must be answered first, and confirmations of what cannot be undone. */
import { Dialog as Base } from "@base-ui/react/dialog";
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "./button.js";
import { TextField } from "./field.js";
import { Icon } from "./icon.js";
import "./dialog.css";

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly isWide?: boolean;
}

const FIRST_FIELD = "input:not([tabindex='-1'], [type=checkbox]), textarea, [role=combobox]";

/** Open dialogs, the topmost last. A press into one is a press outside those below it, which must not close them. */
const pile: object[] = [];

/** Closes with Escape, a click beside it, and its cross. Focus moves in and returns. */
export function Dialog({ title, isOpen, onClose, children, isWide }: DialogProps) {
  const self = useRef({}).current;
  const popup = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    pile.push(self);
    // Later, so that the press that closes it still counts as one outside the others.
    return () => void setTimeout(() => pile.splice(pile.indexOf(self), 1));
  }, [isOpen, self]);
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && pile.at(-1) === self && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="dialog-backdrop" />
        <Base.Popup
          ref={popup}
          className={`dialog${isWide ? " dialog--wide" : ""}`}
          // The first field, rather than the cross; on touch screens nothing, because a keyboard would open.
          initialFocus={(how) => (how === "touch" ? true : (popup.current?.querySelector<HTMLElement>(FIRST_FIELD) ?? true))}
        >
          <header className="dialog__head">
            <Base.Title className="dialog__title">{title}</Base.Title>
            <Base.Close className="button button--bare button--small" aria-label="Close">
              <Icon name="clear" />
            </Base.Close>
          </header>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The row of buttons at a dialog's end. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <footer className="dialog__actions">{children}</footer>;
}

interface ConfirmationProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The effect of the action, and what it deletes. */
  readonly children: ReactNode;
  /** Label of the button: `Kill it`. */
  readonly verb: string;
  /** Text that must be typed first, for actions that delete a lot. */
  readonly typed?: string | undefined;
  readonly isBusy?: boolean;
  readonly isDanger?: boolean;
  readonly problem?: ReactNode;
  readonly onConfirm: () => void;
}

export function Confirmation(props: ConfirmationProps) {
  const { title, isOpen, onClose, children, verb, typed, isBusy, isDanger = true, problem, onConfirm } = props;
  const [text, setText] = useState("");
  const form = useId();
  const isReady = typed === undefined || text === typed;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady && isBusy !== true) onConfirm();
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <form id={form} onSubmit={submit} className="stack">
        {children}
        {typed !== undefined && (
          <TextField label={`Type “${typed}” to confirm`} value={text} onChange={setText} autoComplete="off" spellCheck={false} />
        )}
        {problem}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            appearance={isDanger ? "danger" : "primary"}
            isBusy={isBusy}
            forbidden={isReady ? undefined : `Type “${typed}” first`}
          >
            {verb}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
