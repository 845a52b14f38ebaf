/** Why: pages about an environment do not know where it is: on this machine, or somewhere in the cloud behind somebody's session. */
import type { AdminClient, IngressClient } from "@perdure/admin-client";
import { createContext, useContext } from "react";

export interface ConsoleEnvironment {
  /** Differs between environments: what is known of one is never shown for another. */
  readonly key: string;
  readonly name: string;
  readonly admin: AdminClient;
  readonly ingress: IngressClient;
  /** As people and programs reach them, for snippets; end without a slash. */
  readonly adminUrl: string;
  readonly ingressUrl: string;
  /** Callers need an API key. */
  readonly needsKey: boolean;
  /** Running attempts can be cut off. */
  readonly canCrash: boolean;
  /** Why whoever looks may not change or call anything; undefined when they may. Goes into `forbidden` of buttons. */
  readonly forbidden: string | undefined;
}

export const EnvironmentContext = createContext<ConsoleEnvironment | undefined>(undefined);

export function useEnvironment(): ConsoleEnvironment {
  const environment = useContext(EnvironmentContext);
  if (environment === undefined) throw new Error("this is not the page of an environment");
  return environment;
}
