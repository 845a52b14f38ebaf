/** The console of one environment, from the server that serves the page. */
import { AdminClient, IngressClient } from "@perdure/admin-client";
import { useMemo } from "react";
import type { Boot } from "../boot.js";
import { Frame } from "../shell/frame.js";
import { type ConsoleEnvironment, EnvironmentContext } from "./environment.js";
import { environmentLinks } from "./links.js";
import { EnvironmentPages } from "./pages.js";

interface LocalConsoleProps {
  readonly boot: Boot & { readonly kind: "local" };
  readonly base: string;
}

const GROUPS = environmentLinks();

export function LocalConsole({ boot, base }: LocalConsoleProps) {
  const environment = useMemo(() => localEnvironment(boot, base), [boot, base]);
  return (
    <EnvironmentContext value={environment}>
      <Frame groups={GROUPS} place={<span title={`Perdure ${boot.version}`}>local</span>}>
        <EnvironmentPages />
      </Frame>
    </EnvironmentContext>
  );
}

function localEnvironment({ ingressUrl, canCrash }: LocalConsoleProps["boot"], base: string): ConsoleEnvironment {
  const adminUrl = `${location.origin}${base.replace(/\/ui$/, "")}`;
  return {
    key: "local",
    name: "local",
    admin: new AdminClient({ baseUrl: adminUrl }),
    ingress: new IngressClient({ baseUrl: ingressUrl }),
    adminUrl: location.origin,
    ingressUrl: ingressUrl.replace(/\/+$/, ""),
    needsKey: false,
    canCrash,
    forbidden: undefined,
  };
}
