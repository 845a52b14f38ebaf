/** One frame for all pages of the cloud: the current place, links to every other account and environment, and the signed-in user. */
import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { Button, Icon, Menu, type MenuAction } from "../kit/index.js";
import { Frame, type NavGroup } from "../shell/frame.js";
import { useAccount, useAccounts, useEnvironments } from "./account/account.js";
import { accountPath, elsewhere, environmentPath } from "./places.js";
import { UserMenu } from "./session/user-menu.js";
import "./cloud.css";

interface CloudFrameProps {
  readonly groups: readonly NavGroup[];
  /** The current environment. */
  readonly at?: { readonly environmentId: string; readonly name: string } | undefined;
  readonly children: ReactNode;
}

export function CloudFrame({ groups, at, children }: CloudFrameProps) {
  const account = useAccount();
  const accounts = useAccounts();
  const environments = useEnvironments();
  const [, go] = useLocation();
  const loaded = environments.data ?? [];
  const others = (accounts.data ?? []).filter(({ accountId }) => accountId !== account.accountId);
  const to = (label: string, href: string): MenuAction => ({ label, onSelect: () => go(href) });
  const actions: MenuAction[] = [
    ...loaded
      .filter(({ environmentId, status }) => environmentId !== at?.environmentId && status !== "DELETING")
      .map(({ environmentId, name }) => to(`Environment ${name}`, environmentPath(account.accountId, environmentId))),
    to(`All environments of ${account.name}`, accountPath(account.accountId)),
    ...others.map(({ accountId, name }) => to(`Account ${name}`, accountPath(accountId))),
    to("All accounts", "~/accounts"),
  ];
  return (
    <Frame
      groups={groups}
      more={elsewhere(accounts.data ?? [], account, loaded)}
      place={
        <Menu
          trigger={
            <Button
              appearance="bare"
              className="place-button"
              aria-label={`${at?.name ?? account.name}: switch account or environment`}
            >
              <span className="place-button__text">{at?.name ?? account.name}</span>
              <Icon name="fold-open" />
            </Button>
          }
          actions={actions}
        />
      }
      foot={<UserMenu />}
    >
      {children}
    </Frame>
  );
}
