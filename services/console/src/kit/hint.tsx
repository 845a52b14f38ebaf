/** A hint with a definition, or the reason why an element may not be used, shown on hover and on focus. */
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
