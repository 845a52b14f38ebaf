/** A menu for more actions than fit beside each other. */
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { Hint } from "./hint.js";
import { Icon, type IconName } from "./icon.js";
import "./menu.css";

export interface MenuAction {
  readonly label: string;
  readonly icon?: IconName;
  readonly onSelect: () => void;
  readonly isDanger?: boolean;
  /** Why the entry is disabled now. */
  readonly forbidden?: string | undefined;
}

export function Menu({ trigger, actions }: { readonly trigger: ReactElement; readonly actions: readonly MenuAction[] }) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="menu-place" sideOffset={4} align="end">
          <Base.Popup className="menu">
            {actions.map((action) => (
              <Item key={action.label} {...action} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function Item({ label, icon, onSelect, isDanger, forbidden }: MenuAction): ReactNode {
  const content = (
    <>
      {icon !== undefined && <Icon name={icon} />} {label}
    </>
  );
  const className = `menu__item${isDanger ? " menu__item--danger" : ""}`;
  if (forbidden === undefined) {
    return (
      <Base.Item className={className} onClick={onSelect}>
        {content}
      </Base.Item>
    );
  }
  return (
    <Hint text={forbidden}>
      <Base.Item className={className} aria-disabled closeOnClick={false}>
        {content}
      </Base.Item>
    </Hint>
  );
}
