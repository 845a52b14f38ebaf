/** Why: what a thing is exactly, or why it may not be used, shown when one points at it or focuses it. */
import { Tooltip } from "@base-ui/react/tooltip";
import type { ReactElement } from "react";
import "./hint.css";

export function Hint({ text, children }: { readonly text: string; readonly children: ReactElement }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} aria-description={text} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className="hint-place">
          <Tooltip.Popup className="hint">{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
