/** Why: the listeners of a runtime: of the roles of a cluster, and of all of them in one process. */
import type { DevCluster } from "@perdure/dev-cluster";
import { TestAdminClient } from "../../src/admin-client.js";
import { eventually } from "../../src/eventually.js";
import { TestIngressClient } from "../../src/ingress-client.js";
import { type RawAttempt, RawEndpoint } from "../../src/raw-endpoint.js";
import { Server } from "../../src/server.js";
import type { Speech } from "./draw.js";
import type { Requests } from "./draw-http2.js";
import { HostilePorts } from "./hostile.js";
import { DIALLED_AT_A_TIME, HOSTILE_BATCH_MS_MAX } from "./limits.js";
import { expectGrpcHealth, expectStatus, ProgramSubject, type Subject, sendAll, type Target } from "./subject.js";

/** Name of the service that endpoints of the fuzzer serve. */
export const SERVICE = "Fuzzed";
const ID = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx";

export const INGRESS_REQUESTS: Requests = {
  authority: "localhost",
  paths: [
    `/${SERVICE}/run`,
    `/${SERVICE}/run/send`,
    "/restate/health",
    `/restate/attach/${ID}`,
    `/restate/output/${ID}`,
    "/openapi",
    "/",
  ],
  headers: { "content-type": "application/json", "idempotency-key": "k" },
};
export const ADMIN_REQUESTS: Requests = {
  authority: "localhost",
  paths: [
    "/health",
    "/version",
    "/deployments",
    "/services",
    `/invocations/${ID}`,
    "/query",
    "/metrics",
    "/limits/rules",
    "/ui/",
    "/",
  ],
  headers: { "content-type": "application/json", accept: "application/json" },
};
export const PROBE_REQUESTS: Requests = { authority: "localhost", paths: ["/livez", "/readyz", "/metrics", "/"], headers: {} };
const GRPC_REQUESTS: Requests = {
  authority: "localhost",
  paths: [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/perdure.control.v1.Partitions/Exchange",
    "/perdure.control.v1.Partitions/Watch",
    "/perdure.control.v1.Partitions/ListAttempts",
    "/perdure.control.v1.Partitions/ListQueues",
    "/perdure.control.v1.Partitions/CountUsage",
    "/perdure.control.v1.Partitions/Rows",
    "/perdure.control.v1.Schedules/CreateSchedule",
    "/perdure.control.v1.Schedules/ListSchedules",
    "/perdure.control.v1.Schedules/Ask",
    "/perdure.control.v1.Schedules/List",
    "/perdure.control.v1.Registry/WatchState",
    "/perdure.control.v1.Registry/RegisterDeployment",
    "/perdure.control.v1.Registry/PutRules",
    "/perdure.control.v1.Registry/Watch",
    "/perdure.control.v1.Registry/Change",
    "/perdure.control.v1.Tenancy/GetEnvironment",
    "/perdure.control.v1.Tenancy/Authenticate",
    "/perdure.control.v1.Tenancy/ReportTunnels",
    "/perdure.control.v1.Tenancy/ShareRates",
    "/perdure.control.v1.Tenancy/WatchChanges",
    "/perdure.control.v1.Tenancy/Ask",
    "/perdure.control.v1.Tenancy/Watch",
    "/nothing",
  ],
  headers: { "content-type": "application/grpc", te: "trailers" },
};

interface Listening {
  readonly name: string;
  readonly subject: Subject;
  readonly port: () => number;
  readonly speech: Speech;
  readonly requests: Requests;
  healthy(port: number): Promise<void>;
}

/** A listener that the fuzzer dials. */
export function listeningTarget({ name, subject, port, speech, requests, healthy }: Listening): Target {
  return {
    name,
    subject,
    port,
    speech,
    requests,
    send: (connections) => sendAll(port(), connections),
    healthy: () => healthy(port()),
  };
}

export function httpTarget(subject: ProgramSubject, fact: string, requests: Requests, path: string, status = 200): Target {
  const healthy = (port: number): Promise<void> => expectStatus(`http://127.0.0.1:${port}${path}`, status);
  return listeningTarget({
    name: `${subject.name} ${fact}`,
    subject,
    port: () => subject.portOf(fact),
    speech: "http",
    requests,
    healthy,
  });
}

export const probesTarget = (subject: ProgramSubject): Target => httpTarget(subject, "probes", PROBE_REQUESTS, "/readyz");

export function grpcTarget(subject: ProgramSubject): Target {
  const port = (): number => subject.portOf("grpc");
  return listeningTarget({
    name: `${subject.name} grpc`,
    subject,
    port,
    speech: "grpc",
    requests: GRPC_REQUESTS,
    healthy: expectGrpcHealth,
  });
}

/** Every listener of the programs of a cluster. */
export async function clusterTargets(cluster: DevCluster): Promise<readonly Target[]> {
  const [worker, gateway] = [cluster.workers[0], cluster.gateways[0]];
  if (worker === undefined || gateway === undefined) throw new Error("a cluster without a worker or a gateway");
  const [ingress, admin, registry, workers] = [
    new ProgramSubject("ingress-gateway", gateway, await gateway.ready()),
    new ProgramSubject("admin-api", cluster.admin, await cluster.admin.ready()),
    new ProgramSubject("registry", cluster.registry, await cluster.registry.ready()),
    new ProgramSubject("invoker-worker", worker, await worker.ready()),
  ];
  return [
    httpTarget(ingress, "ingress", INGRESS_REQUESTS, "/restate/health"),
    probesTarget(ingress),
    httpTarget(admin, "admin", ADMIN_REQUESTS, "/health"),
    grpcTarget(registry),
    probesTarget(registry),
    grpcTarget(workers),
    probesTarget(workers),
  ];
}

/** The server as one process: its listeners, and its connections to an endpoint. */
export class StandaloneTargets implements AsyncDisposable {
  readonly targets: readonly Target[];
  readonly #close: AsyncDisposableStack;

  private constructor(targets: readonly Target[], close: AsyncDisposableStack) {
    this.targets = targets;
    this.#close = close;
  }

  static async start(): Promise<StandaloneTargets> {
    await using close = new AsyncDisposableStack();
    const server = close.use(await Server.start());
    // Retries come quickly, so that each call makes many connections; in the end all of them succeed.
    const retries = { retryPolicyInitialInterval: 20, retryPolicyMaxInterval: 200, retryPolicyMaxAttempts: 100_000 };
    const endpoint = close.use(await RawEndpoint.start({ scripts: { [SERVICE]: answer }, service: retries }));
    const hostile = close.use(await HostilePorts.open(1, () => Number(new URL(endpoint.url).port)));
    using admin = new TestAdminClient(server.adminUrl);
    await admin.register({ uri: `http://127.0.0.1:${hostile.ports[0]}` });
    const subject = serverSubject(server);
    const listener = (name: string, url: string, requests: Requests, path: string): Target =>
      listeningTarget({
        name: `standalone ${name}`,
        subject,
        port: () => Number(new URL(url).port),
        speech: "http",
        requests,
        healthy: () => expectStatus(`${url}${path}`, 200),
      });
    const call = (): Promise<void> => expectStatus(`${server.ingressUrl}/${SERVICE}/run`, 200, { method: "POST" });
    const endpointTarget: Target = {
      name: "standalone endpoint",
      subject,
      port: undefined,
      speech: "endpoint",
      requests: { authority: "localhost", paths: ["/"], headers: { "content-type": "application/vnd.restate.invocation.v7" } },
      async send(connections) {
        using ingress = new TestIngressClient(server.ingressUrl);
        const sending = hostile.send(connections, HOSTILE_BATCH_MS_MAX);
        await Promise.all(Array.from({ length: DIALLED_AT_A_TIME }, () => ingress.send([SERVICE, "run"])));
        return sending;
      },
      healthy: call,
    };
    const targets = [
      listener("ingress", server.ingressUrl, INGRESS_REQUESTS, "/restate/health"),
      listener("admin", server.adminUrl, ADMIN_REQUESTS, "/health"),
      endpointTarget,
    ];
    await eventually("the service can be called", () => call().then(() => true));
    return new StandaloneTargets(targets, close.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close.disposeAsync();
  }
}

/** The script of its handler `run`. */
export async function answer(attempt: RawAttempt): Promise<void> {
  attempt.open();
  await attempt.replay();
  attempt.return("done");
}

function serverSubject(server: Server): Subject {
  return {
    name: "standalone",
    get pid() {
      return server.pid;
    },
    get isRunning() {
      return server.isRunning;
    },
    get lastLines() {
      return server.lines.slice(-30);
    },
    async restart() {
      if (server.isRunning) await server.kill();
      await server.startAgain();
    },
  };
}
