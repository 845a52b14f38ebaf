/** The APIs of an environment, reached through the session of this page. */
import { AdminClient, fetchTransport, IngressClient } from "@perdure/admin-client";
import type { EnvironmentDescription } from "../cloud-api.js";
import type { SessionClient } from "../session/session-client.js";
import { retryingTransport } from "./retrying-transport.js";

export interface EnvironmentClients {
  readonly admin: AdminClient;
  readonly ingress: IngressClient;
}

export function environmentClients(client: SessionClient, id: EnvironmentDescription["environmentId"]): EnvironmentClients {
  const transport = fetchTransport(client.fetch);
  const base = `${location.origin}/console/environments/${id}`;
  return {
    admin: new AdminClient({ baseUrl: `${base}/admin`, transport: retryingTransport(transport) }),
    ingress: new IngressClient({ baseUrl: `${base}/ingress`, transport }),
  };
}
