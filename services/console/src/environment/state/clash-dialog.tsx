/** Shows both versions of a key that another user has changed meanwhile, and lets the user choose. Nothing is overwritten unseen. */
import type { ReactNode } from "react";
import { Badge, Button, Dialog, DialogActions } from "../../kit/index.js";
import type { Clash } from "./changes.js";
import { shownValue } from "./state-values.js";

interface ClashDialogProps {
  readonly clashes: readonly Clash[];
  /** Entries that they changed and mine leaves alone. */
  readonly beside: readonly string[];
  readonly isBusy: boolean;
  readonly problem: ReactNode;
  readonly onMine: () => void;
  readonly onTheirs: () => void;
}

export function ClashDialog({ clashes, beside, isBusy, problem, onMine, onTheirs }: ClashDialogProps) {
  return (
    <Dialog title="State changed meanwhile" isOpen onClose={onTheirs} isWide>
      <div className="stack">
        <p>The state of this key has changed since you loaded it. Your changes compared with the current state:</p>
        {clashes.map(({ name, mine, theirs, isOver }) => (
          <section key={name} className="stack stack--tight" aria-label={`Entry ${name}`}>
            <div className="row">
              <h3>
                <code>{name}</code>
              </h3>
              {isOver && <Badge tone="warn">both changed</Badge>}
            </div>
            <div className="state__beside">
              <VersionPanel title="Current" bytes={theirs} />
              <VersionPanel title="Yours" bytes={mine} />
            </div>
          </section>
        ))}
        {beside.length > 0 && <p className="quiet">Also changed: {beside.join(", ")}; these changes stay.</p>}
        {clashes.length === 0 && <p>The current state already equals your change.</p>}
        {problem}
        <DialogActions>
          <Button onClick={onTheirs}>Keep current state</Button>
          {clashes.length > 0 && (
            <Button appearance="primary" isBusy={isBusy} onClick={onMine}>
              Apply my changes
            </Button>
          )}
        </DialogActions>
      </div>
    </Dialog>
  );
}

function VersionPanel({ title, bytes }: { readonly title: string; readonly bytes: Uint8Array | undefined }) {
  return (
    <figure className="card">
      <figcaption className="quiet small">{title}</figcaption>
      {bytes === undefined ? <p className="quiet">absent</p> : <pre className="state__value">{shownValue(bytes).text}</pre>}
    </figure>
  );
}
