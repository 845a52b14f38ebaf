/** One of the two clients, measured in a process of its own. */
import {
  createConfiguration,
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  ListWatch,
  PatchStrategy,
  ResponseContext,
  ServerConfiguration,
  Watch,
  wrapHttpLibrary,
} from "@kubernetes/client-node";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { GROUP_VERSION } from "@perdure/custom-resources";
import { request } from "undici";
import { connectKubernetes } from "../src/client.js";
import { ApiServerConnection } from "../src/connection.js";
import { Reflector } from "../src/reflector.js";
import { type KubeObject, resources } from "../src/resource.js";
import { ENVIRONMENTS, LAST_VERSION } from "./fake-api-server.js";

export type ClientName = "ours" | "library" | "library, our connections";
export type Work = "cache" | "requests" | "fault";

/** Requests of one kind in a row. */
const REQUESTS = 1_000;
/** Time in which a client must know the last state after a fault of its watch. */
const RECOVERY_MS = 8_000;

interface Client {
  /** Resolves when all environments are known. `onVersion`: for every change, its resource version. */
  watch(onVersion: (version: string) => void): Promise<{ versionOf(name: string): string | undefined }>;
  get(): Promise<unknown>;
  apply(object: KubeObject): Promise<unknown>;
}

function ours(kubeconfig: string): Client {
  const client = connectKubernetes(kubeconfig);
  return {
    async watch(onVersion) {
      const ports = { client, clock: systemClock, random: systemRandom, logger: silentLogger };
      const reflector = new Reflector<KubeObject>({ resource: resources.environments }, ports);
      reflector.onChange(({ metadata }) => onVersion(metadata.resourceVersion ?? ""));
      void reflector.run(new AbortController().signal);
      await reflector.synced;
      return { versionOf: (name) => reflector.get(name)?.metadata.resourceVersion };
    },
    get: () => client.get(resources.statefulSets, "workers", "env"),
    apply: (object) => client.apply(object, { manager: "perdure", force: true }),
  };
}

/** The object API of the library with the connections of this package below it. */
function objectApiOver(config: KubeConfig): KubernetesObjectApi {
  const connection = new ApiServerConnection(config, () => {});
  const httpApi = wrapHttpLibrary({
    async send(context) {
      const { headers, dispatcher } = await connection.access();
      const body = context.getBody();
      const answer = await request(context.getUrl(), {
        dispatcher,
        method: context.getHttpMethod(),
        headers: { ...context.getHeaders(), ...headers },
        ...(typeof body === "string" ? { body } : {}),
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const content = { text: async () => bytes.toString(), binary: async () => bytes, stream: () => null };
      return new ResponseContext(answer.statusCode, answer.headers as Record<string, string>, content);
    },
  });
  const baseServer = new ServerConfiguration(config.getCurrentCluster()?.server ?? "", {});
  return new KubernetesObjectApi(createConfiguration({ baseServer, httpApi }));
}

function library(kubeconfig: string, hasOurConnections: boolean): Client {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const api = hasOurConnections ? objectApiOver(config) : KubernetesObjectApi.makeApiClient(config);
  return {
    async watch(onVersion) {
      const list = () => api.list<KubernetesObject>(GROUP_VERSION, "Environment");
      const informer = new ListWatch<KubernetesObject>(`/apis/${GROUP_VERSION}/environments`, new Watch(config), list, false);
      for (const verb of ["add", "update"] as const)
        informer.on(verb, ({ metadata }) => onVersion(metadata?.resourceVersion ?? ""));
      informer.on("error", () => {});
      await informer.start();
      return { versionOf: (name) => informer.get(name)?.metadata?.resourceVersion };
    },
    get: () => api.read({ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "workers", namespace: "env" } }),
    apply: (object) => api.patch(object as never, undefined, undefined, "perdure", true, PatchStrategy.ServerSideApply),
  };
}

const memory = (): { heapMiB: number; residentMiB: number } => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heapMiB: heapUsed / 1_048_576, residentMiB: rss / 1_048_576 };
};

async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function cache(client: Client): Promise<Figures> {
  const before = memory();
  const last = Promise.withResolvers<void>();
  let added = 0;
  const cpuMs = await cpuMsOf(async () => {
    await client.watch((version) => {
      added++;
      if (version === LAST_VERSION) last.resolve();
    });
    await last.promise;
  });
  const after = memory();
  const changes = added - ENVIRONMENTS;
  return {
    "CPU of the list and 20,000 changes (ms)": cpuMs,
    "changes received": changes,
    "heap of the copy (MiB)": after.heapMiB - before.heapMiB,
    "resident memory (MiB)": after.residentMiB,
  };
}

async function requests(client: Client): Promise<Figures> {
  const repeat = async (request: () => Promise<unknown>): Promise<number> => {
    for (let n = 0; n < 100; n++) await request();
    const cpuMs = await cpuMsOf(async () => {
      for (let n = 0; n < REQUESTS; n++) await request();
    });
    return (cpuMs * 1000) / REQUESTS;
  };
  const object = (await client.get()) as KubeObject;
  const sent = JSON.parse(JSON.stringify(object)) as { readonly spec: object };
  return {
    "CPU of reading an object (µs)": await repeat(() => client.get()),
    "CPU of applying an object (µs)": await repeat(() => client.apply(object)),
    "a field that the library does not know is kept": "futureField" in sent.spec ? "yes" : "no",
  };
}

async function fault(client: Client): Promise<Figures> {
  const copy = await client.watch(() => {});
  await new Promise((resolve) => setTimeout(resolve, RECOVERY_MS));
  return { "state of the object after 8 s": copy.versionOf("env-1") === "1001" ? "current" : "stale" };
}

export type Figures = Readonly<Record<string, number | string>>;

export async function measure(name: ClientName, work: Work, kubeconfig: string): Promise<Figures> {
  const client = name === "ours" ? ours(kubeconfig) : library(kubeconfig, name !== "library");
  return { cache, requests, fault }[work](client);
}
