/** A registry, endpoints with manifests, and a client that registers them, for tests of the rules of versioning. */
import type { DeploymentId } from "@perdure/base";
import type { DeploymentUsage, RegisterRequest, ServiceOverrides, UpdateRequest } from "@perdure/metadata";
import type { RegistryRole } from "../registry.js";
import { aManifest, startEndpoint, type TestEndpoint } from "./endpoint.js";
import { aRegisterRequest } from "./register-request.js";
import { createTestRegistry } from "./registry.js";

export const signal = new AbortController().signal;
export const at = (uri: string) => ({ kind: "http", uri, useHttp11: false }) as const;
const NO_OVERRIDES: ServiceOverrides = {
  public: undefined,
  idempotencyRetentionMs: undefined,
  workflowCompletionRetentionMs: undefined,
  journalRetentionMs: undefined,
  inactivityTimeoutMs: undefined,
  abortTimeoutMs: undefined,
  stateTtlMs: undefined,
};
export const overrides = (change: Partial<ServiceOverrides>): ServiceOverrides => ({ ...NO_OVERRIDES, ...change });

export class RegistryWorld implements AsyncDisposable {
  /** Usage of deployments as reported to `registry`. */
  readonly usage: DeploymentUsage;
  /** A test that is about another one puts it here. */
  registry: RegistryRole;
  readonly #endpoints: TestEndpoint[] = [];

  private constructor(usage: DeploymentUsage, registry: RegistryRole) {
    this.usage = usage;
    this.registry = registry;
  }

  static async open(): Promise<RegistryWorld> {
    const usage = { pinned: 0, unfinishedByService: new Map() };
    return new RegistryWorld(usage, await createTestRegistry({ usage }));
  }

  /** An endpoint until the end of the test. */
  async serve(manifest: object): Promise<TestEndpoint> {
    const endpoint = await startEndpoint("h2c", { body: manifest });
    this.#endpoints.push(endpoint);
    return endpoint;
  }

  endpointOf(services: readonly object[], change: object = {}): Promise<TestEndpoint> {
    return this.serve(aManifest(services, change));
  }

  register(uri: string, change: Partial<RegisterRequest> = {}) {
    return this.registry.register(aRegisterRequest(uri, change), signal);
  }

  update(id: DeploymentId, change: Partial<UpdateRequest>) {
    return this.registry.update(
      id,
      { address: undefined, additionalHeaders: undefined, overwrite: false, dryRun: false, ...change },
      signal,
    );
  }

  revisionOf(service: string): number | undefined {
    return this.registry.service(service)?.revision.revision;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const endpoint of this.#endpoints.splice(0)) await endpoint[Symbol.asyncDispose]();
  }
}
