/** An API server of 500 environments and one StatefulSet, without a store, for measurements of clients over TLS. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { GROUP_VERSION } from "@perdure/custom-resources";
import { makeCertificates } from "@perdure/testkit";

export const ENVIRONMENTS = 500;
/** Changes that a watch brings, spread over all environments. */
export const CHANGES = 20_000;
/** Resource version of the last change. */
export const LAST_VERSION = String(1_000 + CHANGES);

/** Counts of one client. */
export interface RequestCounts {
  connections: number;
  lists: number;
  discoveries: number;
  watches: number;
  watchesWithBookmarks: number;
}

/** Fault of the first watch; later ones are healthy. `damaged`: a line that is not JSON in place of the change of one object. */
export type WatchFault = "none" | "status 500" | "damaged line";

const STATEFUL_SET = `/apis/apps/v1/namespaces/env/statefulsets/workers`;

export class FakeApiServer implements AsyncDisposable {
  readonly counts: RequestCounts = { connections: 0, lists: 0, discoveries: 0, watches: 0, watchesWithBookmarks: 0 };
  fault: WatchFault = "none";
  changes = CHANGES;
  readonly #server: Server;
  readonly #authority: string;

  private constructor(server: Server, authority: string) {
    this.#server = server;
    this.#authority = authority;
    server.on("secureConnection", () => this.counts.connections++);
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<FakeApiServer> {
    const { trusted } = await makeCertificates();
    const server = createServer({ cert: trusted.certificate, key: trusted.privateKey });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FakeApiServer(server, trusted.authority);
  }

  kubeconfig(): string {
    const server = `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const authority = Buffer.from(this.#authority).toString("base64");
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": authority } }],
      users: [{ name: "u", user: { token: "secret" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://localhost");
    response.setHeader("content-type", "application/json");
    if (pathname === STATEFUL_SET) {
      for await (const _ of request);
      return void response.end(JSON.stringify(statefulSet()));
    }
    if (pathname === `/apis/${GROUP_VERSION}` || pathname === "/apis/apps/v1") {
      this.counts.discoveries++;
      return void response.end(JSON.stringify(servedKinds(pathname.slice("/apis/".length))));
    }
    if (searchParams.has("watch")) return this.#watch(searchParams, response);
    this.counts.lists++;
    const items = Array.from({ length: ENVIRONMENTS }, (_, n) => environment(n, 1_000));
    const list = {
      apiVersion: GROUP_VERSION,
      kind: "EnvironmentList",
      metadata: { resourceVersion: "1000", continue: "" },
      items,
    };
    response.end(JSON.stringify(list));
  }

  async #watch(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const isFirst = this.counts.watches++ === 0;
    if (query.has("allowWatchBookmarks")) this.counts.watchesWithBookmarks++;
    if (isFirst && this.fault === "status 500") return void response.writeHead(500).end("{}");
    const from = Number(query.get("resourceVersion") ?? 1_000);
    for (let version = from + 1; version <= 1_000 + this.changes; version++) {
      const isDamaged = isFirst && this.fault === "damaged line" && version === 1_001;
      const event = JSON.stringify({ type: "MODIFIED", object: environment(version % ENVIRONMENTS, version) });
      const line = isDamaged ? event.slice(0, 100) : event;
      if (!response.write(`${line}\n`)) await new Promise((resolve) => response.once("drain", resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const managedFields = ["perdure-operator", "perdure-tenancy"].map((manager) => ({
  manager,
  operation: "Apply",
  apiVersion: GROUP_VERSION,
  time: "2026-11-26T12:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1: Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f:field${n}`, { ".": {}, "f:inner": {} }])),
}));

/** About 4 KB, as an environment of a cell with its conditions has it. */
function environment(n: number, version: number) {
  const conditions = Array.from({ length: 8 }, (_, index) => ({
    type: `Condition${index}`,
    status: "True",
    reason: "AsExpected",
    message: `The part ${index} of the environment is as its specification has it`,
    lastTransitionTime: "2026-11-26T12:00:00Z",
    observedGeneration: 3,
  }));
  return {
    apiVersion: GROUP_VERSION,
    kind: "Environment",
    metadata: {
      name: `env-${n}`,
      uid: `uid-${n}`,
      resourceVersion: String(version),
      creationTimestamp: "2026-11-26T12:00:00Z",
      managedFields,
    },
    spec: { environmentId: `env_${n}`, workers: { partitions: 24 }, redis: { bundled: { size: "10Gi" } }, size: "small" },
    status: { conditions, observedVersion: version },
  };
}

/** `futureField` stands for a field of a release of Kubernetes that is newer than the client library. */
function statefulSet() {
  const containers = Array.from({ length: 3 }, (_, n) => ({
    name: `container-${n}`,
    image: "perdure/invoker-worker:1.4.0",
    env: Array.from({ length: 20 }, (_, index) => ({ name: `PERDURE_${index}`, value: "value" })),
  }));
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: {
      name: "workers",
      namespace: "env",
      resourceVersion: "7",
      creationTimestamp: "2026-11-26T12:00:00Z",
      managedFields,
    },
    spec: { replicas: 3, futureField: true, template: { spec: { containers } }, serviceName: "workers", selector: {} },
  };
}

function servedKinds(groupVersion: string) {
  const resources = [
    { name: "environments", kind: "Environment", namespaced: false, singularName: "", verbs: [] },
    { name: "statefulsets", kind: "StatefulSet", namespaced: true, singularName: "", verbs: [] },
  ];
  return { apiVersion: "v1", kind: "APIResourceList", groupVersion, resources };
}
