/** Why: pages of an account know which one it is, and what whoever looks may do in it. */
import type { AccountPower } from "@perdure/cloud";
import type { UseQueryResult } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import type { AccountFacts, AccountSummary, EnvironmentFacts } from "../cloud-api.js";
import { forbiddenFor } from "../roles.js";
import { useCloudAsk } from "../use-cloud.js";
import { type ListedEnvironment, listEnvironments, PROGRESS_MS, waitsForSomething } from "./environment-list.js";

export const AccountContext = createContext<AccountSummary | undefined>(undefined);

export function useAccount(): AccountSummary {
  const account = useContext(AccountContext);
  if (account === undefined) throw new Error("this is not the page of an account");
  return account;
}

export function useAccounts(): UseQueryResult<readonly AccountSummary[]> {
  return useCloudAsk(["accounts"], async (api, signal) => (await api.user("ListAccounts", {}, signal)).accounts);
}

/** Why whoever looks may not; undefined when they may. Goes into `forbidden` of buttons. */
export function useForbidden(power: AccountPower): string | undefined {
  return forbiddenFor(useAccount().role, power);
}

/** With plan, plans to choose and regions. */
export function useAccountFacts(): UseQueryResult<AccountFacts> {
  const { accountId } = useAccount();
  return useCloudAsk(["account", accountId], (api, signal) => api.account(accountId, "DescribeAccount", {}, signal));
}

/** Live as long as something is coming up or going. */
export function useEnvironments(): UseQueryResult<readonly ListedEnvironment[]> {
  const { accountId, role } = useAccount();
  return useCloudAsk(["environments", accountId], (api, signal) => listEnvironments(api, accountId, signal), {
    everyMs: (known) => (known?.some(waitsForSomething) ? PROGRESS_MS : RARELY_MS),
    isOff: forbiddenFor(role, "view") !== undefined,
  });
}

export function useEnvironmentFacts(environmentId: EnvironmentFacts["environmentId"]): UseQueryResult<EnvironmentFacts> {
  const { accountId } = useAccount();
  return useCloudAsk(
    ["environment", accountId, environmentId],
    (api, signal) => api.account(accountId, "DescribeEnvironment", { environmentId }, signal),
    { everyMs: (known) => (known !== undefined && waitsForSomething(known) ? PROGRESS_MS : RARELY_MS) },
  );
}

/** Others suspend, make and delete environments too. */
const RARELY_MS = 30_000;
