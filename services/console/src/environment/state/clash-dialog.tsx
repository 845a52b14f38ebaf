/** Why: somebody changed the key meanwhile: both are shown, and whoever is here chooses. Nothing is overwritten unseen. */
import type { ReactNode } from "react";
import { Badge, Button, Dialog, DialogActions } from "../../kit/index.js";
import type { Clash } from "./changes.js";
import { shownValue } from "./state-values.js";

export interface ClashDialogProps {
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
    <Dialog title="Somebody changed it meanwhile" isOpen onClose={onTheirs} isWide>
      <div className="stack">
        <p>Since you read this key its state has changed. Yours would change what is there now like this:</p>
        {clashes.map(({ name, mine, theirs, isOver }) => (
          <section key={name} className="stack stack--tight" aria-label={`Entry ${name}`}>
            <div className="row">
              <h3>
                <code>{name}</code>
              </h3>
              {isOver && <Badge tone="warn">both changed it</Badge>}
            </div>
            <div className="state__beside">
              <Side title="There now" bytes={theirs} />
              <Side title="Yours" bytes={mine} />
            </div>
          </section>
        ))}
        {beside.length > 0 && <p className="quiet">They also changed {beside.join(", ")}; that stays.</p>}
        {clashes.length === 0 && <p>They changed it to what you want: nothing is left to do.</p>}
        {problem}
        <DialogActions>
          <Button onClick={onTheirs}>Keep what is there now</Button>
          {clashes.length > 0 && (
            <Button look="primary" isBusy={isBusy} onClick={onMine}>
              Make my changes to it
            </Button>
          )}
        </DialogActions>
      </div>
    </Dialog>
  );
}

function Side({ title, bytes }: { readonly title: string; readonly bytes: Uint8Array | undefined }) {
  return (
    <figure className="card">
      <figcaption className="quiet small">{title}</figcaption>
      {bytes === undefined ? <p className="quiet">not there</p> : <pre className="state__value">{shownValue(bytes).text}</pre>}
    </figure>
  );
}
