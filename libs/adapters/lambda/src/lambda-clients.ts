/** AWS clients, one for each region and role. The AWS SDK is large, so it is loaded when the first Lambda endpoint is called. */
import type { LambdaClient, LambdaClientConfig } from "@aws-sdk/client-lambda";
import { CLIENTS_MAX, CONNECT_TIMEOUT_MS, SOCKETS_MAX } from "./limits.js";

export interface LambdaClientOptions {
  /** Address of the Lambda API instead of the region's own; for tests and private gateways. */
  readonly endpoint?: string | undefined;
  /** Address of the token service (STS), likewise. */
  readonly stsEndpoint?: string | undefined;
  /** Credentials instead of the SDK's default chain (environment, instance, profile). */
  readonly credentials?: LambdaClientConfig["credentials"];
  /** External id when a role is assumed, against confused deputies. */
  readonly assumeRoleExternalId?: string | undefined;
}

export class LambdaClients {
  readonly #options: LambdaClientOptions;
  /** Clients by region and role; a full cache evicts its oldest entry. */
  readonly #clients = new Map<string, Promise<LambdaClient>>();

  constructor(options: LambdaClientOptions) {
    this.#options = options;
  }

  get(region: string, role: string | undefined): Promise<LambdaClient> {
    const name = `${region} ${role ?? ""}`;
    let client = this.#clients.get(name);
    if (client === undefined) {
      this.#evictOldest();
      client = this.#create(region, role);
      this.#clients.set(name, client);
      client.catch(() => this.#clients.delete(name)); // The next call retries; callers of this one get the error.
    }
    return client;
  }

  async destroy(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const client of await Promise.allSettled(clients)) if (client.status === "fulfilled") client.value.destroy();
  }

  async #create(region: string, role: string | undefined): Promise<LambdaClient> {
    const { LambdaClient } = await import("@aws-sdk/client-lambda");
    const { endpoint, credentials } = this.#options;
    const chosen = role === undefined ? credentials : await this.#roleCredentials(region, role);
    return new LambdaClient({
      region,
      maxAttempts: 1, // The invoker retries, by the retry policy.
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        httpsAgent: { keepAlive: true, maxSockets: SOCKETS_MAX },
        httpAgent: { keepAlive: true, maxSockets: SOCKETS_MAX },
      },
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(chosen === undefined ? {} : { credentials: chosen }),
    });
  }

  async #roleCredentials(region: string, role: string): Promise<NonNullable<LambdaClientConfig["credentials"]>> {
    const { fromTemporaryCredentials } = await import("@aws-sdk/credential-providers");
    const { credentials, stsEndpoint, assumeRoleExternalId } = this.#options;
    return fromTemporaryCredentials({
      params: {
        RoleArn: role,
        RoleSessionName: "perdure",
        ...(assumeRoleExternalId === undefined ? {} : { ExternalId: assumeRoleExternalId }),
      },
      clientConfig: { region, ...(stsEndpoint === undefined ? {} : { endpoint: stsEndpoint }) },
      ...(credentials === undefined ? {} : { masterCredentials: credentials }),
    });
  }

  #evictOldest(): void {
    if (this.#clients.size < CLIENTS_MAX) return;
    const [oldest] = this.#clients;
    if (oldest === undefined) return;
    this.#clients.delete(oldest[0]);
    oldest[1].then(
      (client) => client.destroy(),
      () => {}, // The client could not be created, and its caller got the error.
    );
  }
}
