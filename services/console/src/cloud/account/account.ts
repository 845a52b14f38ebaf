/** Gives pages of an account its id and the permissions of the user in it. */
import type { AccountPower } from "@perdure/cloud";
import type { UseQueryResult } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import type { AccountFacts, AccountSummary, EnvironmentDescription } from "../cloud-api.js";
import { forbiddenFor } from "../roles.js";
import { useCloudRequest } from "../use-cloud.js";
import { type ListedEnvironment, listEnvironments, PROGRESS_MS, waitsForSomething } from "./environment-list.js";

export const AccountContext = createContext<AccountSummary | undefined>(undefined);

export function useAccount(): AccountSummary {
  const account = useContext(AccountContext);
  if (account === undefined) throw new Error("this is not the page of an account");
  return account;
}

export function useAccounts(): UseQueryResult<readonly AccountSummary[]> {
  return useCloudRequest(["accounts"], async (api, signal) => (await api.user("ListAccounts", {}, signal)).accounts);
}

/** Why the user may not do it; undefined when the user may. Value of `forbidden` of buttons. */
export function useForbidden(power: AccountPower): string | undefined {
  return forbiddenFor(useAccount().role, power);
}

/** Account with plan, available plans and regions. */
export function useAccountFacts(): UseQueryResult<AccountFacts> {
  const { accountId } = useAccount();
  return useCloudRequest(["account", accountId], (api, signal) => api.account(accountId, "DescribeAccount", {}, signal));
}

/** Live as long as something is coming up or going. */
export function useEnvironments(): UseQueryResult<readonly ListedEnvironment[]> {
  const { accountId, role } = useAccount();
  return useCloudRequest(["environments", accountId], (api, signal) => listEnvironments(api, accountId, signal), {
    everyMs: (environments) => (environments?.some(waitsForSomething) ? PROGRESS_MS : RARELY_MS),
    isOff: forbiddenFor(role, "view") !== undefined,
  });
}

export function useEnvironmentFacts(
  environmentId: EnvironmentDescription["environmentId"],
): UseQueryResult<EnvironmentDescription> {
  const { accountId } = useAccount();
  return useCloudRequest(
    ["environment", accountId, environmentId],
    (api, signal) => api.account(accountId, "DescribeEnvironment", { environmentId }, signal),
    { everyMs: (facts) => (facts !== undefined && waitsForSomething(facts) ? PROGRESS_MS : RARELY_MS) },
  );
}

/** Other members suspend, create and delete environments too. */
const RARELY_MS = 30_000;
