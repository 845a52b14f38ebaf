/** One environment of the cloud: its pages when it runs, and the reason when it does not. */
import { useMemo } from "react";
import { Route, Switch } from "wouter";
import { type ConsoleEnvironment, EnvironmentContext } from "../../environment/environment.js";
import { environmentLinks } from "../../environment/links.js";
import { EnvironmentPages } from "../../environment/pages.js";
import { Empty, isRecord, Loaded, Page } from "../../kit/index.js";
import { partOf } from "../../shell/part.js";
import { PartPage } from "../../shell/part-page.js";
import { useAccount, useEnvironmentFacts } from "../account/account.js";
import { ResumeButton } from "../account/environment-actions.js";
import { reasonOf } from "../account/environment-list.js";
import { StatusBadge } from "../account/status-badge.js";
import type { EnvironmentDescription } from "../cloud-api.js";
import { CloudFrame } from "../cloud-frame.js";
import { accountLinksFromInside } from "../places.js";
import { forbiddenInside } from "../roles.js";
import type { SessionClient } from "../session/session-client.js";
import { useCloud } from "../use-cloud.js";
import { environmentClients } from "./environment-clients.js";
import { FactsContext } from "./facts.js";
import { NotRunning } from "./not-running.js";

const MORE = [
  { path: "/developers", part: partOf(() => import("./developers-page.js")) },
  { path: "/settings", part: partOf(() => import("./settings-page.js")) },
];
const OWN_GROUP = {
  label: "Environment",
  links: [
    { href: "/developers", label: "Developers", icon: "developers" as const, keywords: "urls api keys snippets signing tunnels" },
    { href: "/settings", label: "Settings", icon: "settings" as const, keywords: "name cors suspend delete" },
  ],
};

/** `id` as in the address: it may not exist. */
export default function EnvironmentConsole({ id }: { readonly id: string }) {
  const account = useAccount();
  const forbiddenReason = account.role === "billing" ? forbiddenInside(account.role) : undefined;
  const environmentId = id as EnvironmentDescription["environmentId"];
  if (forbiddenReason !== undefined) {
    return (
      <CloudFrame groups={[accountLinksFromInside(account)]}>
        <Page title="Environment">
          <p className="note">{forbiddenReason}</p>
        </Page>
      </CloudFrame>
    );
  }
  return <EnvironmentFrame environmentId={environmentId} />;
}

function EnvironmentFrame({ environmentId }: Pick<EnvironmentDescription, "environmentId">) {
  const account = useAccount();
  const facts = useEnvironmentFacts(environmentId);
  const groups = useMemo(() => [...environmentLinks(), OWN_GROUP, accountLinksFromInside(account)], [account]);
  const at = facts.data === undefined ? undefined : { environmentId, name: facts.data.name };
  return (
    <CloudFrame groups={groups} at={at}>
      {facts.isError && isUnknown(facts.error) ? (
        <Empty title="Environment not found">
          <p>The environment was deleted, belongs to another account, or the address is wrong.</p>
        </Empty>
      ) : (
        <Loaded query={facts}>{(loaded) => <Inside facts={loaded} />}</Loaded>
      )}
    </CloudFrame>
  );
}

function isUnknown(cause: unknown): boolean {
  return isRecord(cause) && (cause["code"] === "PERD0404" || cause["status"] === 400);
}

function Inside({ facts }: { readonly facts: EnvironmentDescription }) {
  const { client } = useCloud();
  const { role } = useAccount();
  const { environmentId, name, status, adminBaseUrl, ingressBaseUrl } = facts;
  const suspended = status === "SUSPENDED" ? "The environment is suspended: nothing can be changed or called." : undefined;
  const forbidden = forbiddenInside(role) ?? suspended;
  const environment = useMemo(
    () => environmentOf(client, { environmentId, name, adminBaseUrl, ingressBaseUrl }, forbidden),
    [client, environmentId, name, adminBaseUrl, ingressBaseUrl, forbidden],
  );
  return (
    <FactsContext value={facts}>
      <EnvironmentContext value={environment}>
        {status === "ACTIVE" ? (
          <EnvironmentPages more={MORE} />
        ) : (
          <Switch>
            {MORE.map(({ path, part }) => (
              <Route key={path} path={path}>
                <PartPage part={part} />
              </Route>
            ))}
            <Route>
              <NotRunning
                title={name}
                badge={<StatusBadge status={status} />}
                reason={reasonOf(facts)}
                facts={facts}
                action={status === "PENDING" ? undefined : <ResumeButton subject={facts} />}
              />
            </Route>
          </Switch>
        )}
      </EnvironmentContext>
    </FactsContext>
  );
}

type EnvironmentEndpoints = Pick<EnvironmentDescription, "environmentId" | "name" | "adminBaseUrl" | "ingressBaseUrl">;

/** The APIs of the environment, reached through the session of this page. */
function environmentOf(client: SessionClient, place: EnvironmentEndpoints, forbidden: string | undefined): ConsoleEnvironment {
  const { environmentId, name, adminBaseUrl, ingressBaseUrl } = place;
  return {
    key: environmentId,
    name,
    ...environmentClients(client, environmentId),
    adminUrl: adminBaseUrl.replace(/\/+$/, ""),
    ingressUrl: ingressBaseUrl.replace(/\/+$/, ""),
    needsKey: true,
    canCrash: false,
    forbidden,
  };
}
