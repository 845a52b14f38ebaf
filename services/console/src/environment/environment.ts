/** Pages of an environment do not depend on where it is: on this machine, or in the cloud behind a user's session. */
import type { AdminClient, IngressClient } from "@perdure/admin-client";
import { createContext, useContext } from "react";

export interface ConsoleEnvironment {
  /** Differs between environments, so that data of one is never shown for another. */
  readonly key: string;
  readonly name: string;
  readonly admin: AdminClient;
  readonly ingress: IngressClient;
  /** URLs that clients use, for snippets; without a slash at the end. */
  readonly adminUrl: string;
  readonly ingressUrl: string;
  /** Callers need an API key. */
  readonly needsKey: boolean;
  /** Running attempts can be cut off. */
  readonly canCrash: boolean;
  /** Why the user may not change or call anything; undefined when the user may. Value of `forbidden` of buttons. */
  readonly forbidden: string | undefined;
}

export const EnvironmentContext = createContext<ConsoleEnvironment | undefined>(undefined);

export function useEnvironment(): ConsoleEnvironment {
  const environment = useContext(EnvironmentContext);
  if (environment === undefined) throw new Error("this is not the page of an environment");
  return environment;
}
