/** Why: the processes of a cluster with a real database; workers are played in this process, where tests can hold them. */
import { type RoleSettings, ServiceProgram, type ServiceProgramOptions } from "@perdure/dev-cluster";
import type { LiveWorker } from "@perdure/grpc";
import { NOTHING_LIVE, TestWorker } from "@perdure/grpc/testing";
import type { RegisterRequest } from "@perdure/metadata";
import { freePorts, type PostgresServer, startPostgres } from "@perdure/servers";
import { MemoryKeyValue } from "@perdure/storage";

export const LOCAL: RoleSettings = {
  "probes.bind-address": "127.0.0.1",
  "probes.bind-port": 0,
  "shutdown-timeout": "5s",
};

export class TestCluster implements AsyncDisposable {
  readonly postgres: PostgresServer;
  readonly worker: TestWorker;
  readonly #things: AsyncDisposable[] = [];

  private constructor(postgres: PostgresServer, worker: TestWorker) {
    this.postgres = postgres;
    this.worker = worker;
    this.#things.push(postgres, worker);
  }

  /** `live`: reports of the worker that differ from empty ones. */
  static async start(live: Partial<LiveWorker> = {}): Promise<TestCluster> {
    const [postgres, worker] = await Promise.all([
      startPostgres(),
      TestWorker.start(new MemoryKeyValue(), { epoch: 1, live: { ...NOTHING_LIVE, ...live } }),
    ]);
    return new TestCluster(postgres, worker);
  }

  /** Ends with the cluster, before what was there earlier. */
  use<T extends AsyncDisposable>(thing: T): T {
    this.#things.push(thing);
    return thing;
  }

  async launch(options: ServiceProgramOptions): Promise<ServiceProgram> {
    return this.use(await ServiceProgram.launch(options));
  }

  /** Returns settings of a registry with fixed ports, so that the address stays the same after a restart. */
  async registrySettings(
    more: RoleSettings = {},
  ): Promise<RoleSettings & { readonly "grpc.bind-port": number; readonly "probes.bind-port": number }> {
    const [grpc, probes] = (await freePorts(2)) as [number, number];
    return {
      ...LOCAL,
      "grpc.bind-address": "127.0.0.1",
      "grpc.bind-port": grpc,
      "metadata.postgres-url": this.postgres.url,
      "worker.addresses": this.worker.address,
      ...more,
      "probes.bind-port": probes,
    };
  }

  gatewaySettings(registries: readonly { readonly "grpc.bind-port": number }[], more: RoleSettings = {}): RoleSettings {
    return {
      ...LOCAL,
      "ingress.bind-address": "127.0.0.1",
      "ingress.bind-port": 0,
      "registry.addresses": registries.map((one) => `127.0.0.1:${one["grpc.bind-port"]}`).join(","),
      "worker.addresses": this.worker.address,
      ...more,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const thing of this.#things.toReversed()) await thing[Symbol.asyncDispose]();
  }
}

export function registration(uri: string): RegisterRequest {
  return {
    address: { kind: "http", uri, useHttp11: false },
    additionalHeaders: {},
    metadata: {},
    force: false,
    breaking: false,
    dryRun: false,
    acceptUnchanged: true,
  };
}

/** Status and text of a probe; undefined when the connection fails. */
export async function probe(port: number, path = "/readyz"): Promise<{ status: number; text: string } | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, text: await answer.text() };
  } catch {
    return undefined; // Not bound yet, or not any more.
  }
}
