/** Builds the addresses of the cloud's pages. With `~` they are valid from inside an environment too. Pure. */
import type { NavGroup } from "../shell/frame.js";
import type { AccountSummary } from "./cloud-api.js";

export function accountPath(accountId: string, page = ""): string {
  return `~/accounts/${encodeURIComponent(accountId)}${page}`;
}

export function environmentPath(accountId: string, environmentId: string, page = ""): string {
  return accountPath(accountId, `/environments/${encodeURIComponent(environmentId)}${page}`);
}

const ACCOUNT_PAGES = [
  { page: "", label: "Environments", icon: "environments", keywords: "list create" },
  { page: "/members", label: "Members", icon: "members", keywords: "people roles invite" },
  { page: "/usage", label: "Usage", icon: "usage", keywords: "actions traffic quota" },
  { page: "/audit", label: "Audit log", icon: "audit", keywords: "who did what events" },
  { page: "/settings", label: "Account settings", icon: "settings", keywords: "plan limits name" },
] as const;

/** Entries of an account's sidebar. */
export function accountLinks(): readonly NavGroup[] {
  return [
    {
      label: "Account",
      links: ACCOUNT_PAGES.map(({ page, label, icon, keywords }) => ({ href: page || "/", label, icon, keywords })),
    },
  ];
}

/** Entry of an environment's sidebar: back to its account. */
export function accountLinksFromInside({ accountId, name }: AccountSummary): NavGroup {
  return {
    label: name,
    links: ACCOUNT_PAGES.map(({ page, label, icon, keywords }) => ({
      href: accountPath(accountId, page),
      label,
      icon,
      keywords,
    })),
  };
}

/** Entries of the palette: all other places. */
export function elsewhere(
  accounts: readonly AccountSummary[],
  account: AccountSummary | undefined,
  environments: readonly { readonly environmentId: string; readonly name: string }[],
): readonly NavGroup[] {
  return [
    {
      label: "Environment",
      links:
        account === undefined
          ? []
          : environments.map(({ environmentId, name }) => ({
              href: environmentPath(account.accountId, environmentId),
              label: `Environment ${name}`,
              keywords: environmentId,
            })),
    },
    {
      label: "Account",
      links: accounts
        .filter(({ accountId }) => accountId !== account?.accountId)
        .map(({ accountId, name }) => ({ href: accountPath(accountId), label: `Account ${name}`, keywords: accountId })),
    },
  ];
}
