/**
 * Opens ports for each environment, for development (cloud.md §1.8): a developer's machine has no host names for environments. The ports
 * are those of the addresses in the environment's facts; they are opened and closed with the environment.
 */
import type { Logger } from "@perdure/base";
import { bareOf, type EnvironmentFacts, type Tenancy } from "@perdure/cloud";
import type { GatewayEndpoint } from "./environments.js";
import type { CloudGateway, OpenListener } from "./ports.js";

interface EnvironmentPortsSettings {
  /** Address to listen on; loopback unless it is configured. */
  readonly host: string;
}

export class EnvironmentPortListeners implements AsyncDisposable {
  readonly #gateway: CloudGateway;
  readonly #tenancy: Tenancy;
  readonly #logger: Logger;
  readonly #host: string;
  /** Open listeners by endpoint, port and environment. */
  readonly #open = new Map<string, OpenListener>();
  readonly #stop = new AbortController();
  #following: Promise<void> = Promise.resolve();
  #isDue = false;

  constructor(gateway: CloudGateway, tenancy: Tenancy, logger: Logger, { host }: EnvironmentPortsSettings) {
    this.#gateway = gateway;
    this.#tenancy = tenancy;
    this.#logger = logger;
    this.#host = host;
    tenancy.watch(
      (change) => {
        if (change.kind === "everything" || change.kind === "environment") this.#follow();
      },
      { signal: this.#stop.signal },
    );
  }

  /** Resolves when all changes that were known at the time of the call are applied. */
  get idle(): Promise<void> {
    return this.#following;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
    await Promise.all([...this.#open.values()].map((listener) => listener[Symbol.asyncDispose]()));
    this.#open.clear();
  }

  /** Runs one at a time; a run that waits for its turn also covers change events that arrive until then. */
  #follow(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#following = this.#following.then(async () => {
      this.#isDue = false;
      if (this.#stop.signal.aborted) return;
      try {
        await this.#arrange(await this.#tenancy.environments());
      } catch (cause) {
        this.#logger.warn({ cause }, "environments could not be listed; their ports are unchanged until the next change event");
      }
    });
  }

  async #arrange(all: readonly EnvironmentFacts[]): Promise<void> {
    const desired = new Map<string, { endpoint: GatewayEndpoint; port: number; facts: EnvironmentFacts }>();
    for (const facts of all) {
      for (const endpoint of ["ingress", "admin"] as const) {
        const port = Number(new URL(endpoint === "ingress" ? facts.ingressUrl : facts.adminUrl).port);
        if (port > 0) desired.set(`${endpoint} ${port} ${facts.id}`, { endpoint, port, facts });
      }
    }
    for (const [name, listener] of this.#open) {
      if (desired.has(name)) continue;
      this.#open.delete(name);
      await listener[Symbol.asyncDispose]();
    }
    for (const [name, { endpoint, port, facts }] of desired) {
      if (this.#open.has(name)) continue;
      try {
        this.#open.set(name, await this.#gateway.listen({ endpoint, host: this.#host, port, environment: bareOf(facts.id) }));
      } catch (cause) {
        this.#logger.warn({ cause, port, environmentId: facts.id }, "an environment's port cannot be opened");
      }
    }
  }
}
