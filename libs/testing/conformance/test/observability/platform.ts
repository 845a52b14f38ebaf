/** Runs every program, so that tests can compare the metrics at `/metrics` with the docs. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DevCluster, ServiceProgram } from "@perdure/dev-cluster";
import { freePorts } from "@perdure/servers";
import { TEST_ISSUER, TEST_KEYS } from "@perdure/tenancy/testing";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, type HttpAnswer, SdkEndpoint, Server, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { type Role, scrape } from "./scrape.js";

const DOMAIN = "perdure.test";
const NAP_MS = 5;
/** Number of different names sent to every listener that accepts names. */
const LABEL_COUNT = 20;

const suspendedService = service({
  name: "Sleeper",
  handlers: {
    nap: async (ctx: Context, ms: number) => {
      await ctx.sleep(ms);
      return "awake";
    },
  },
});

/** An API server that does not exist: the operator waits for it and exposes metrics meanwhile. */
const NOWHERE = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "nowhere",
  contexts: [{ name: "nowhere", context: { cluster: "nowhere", user: "nobody" } }],
  clusters: [{ name: "nowhere", cluster: { server: "http://127.0.0.1:1" } }],
  users: [{ name: "nobody", user: {} }],
});

export class Platform implements AsyncDisposable {
  readonly standalone: Server;
  readonly cluster: DevCluster;
  /** Address of each role's metrics. */
  readonly metricsUrls: ReadonlyMap<Role, string>;
  readonly #close: AsyncDisposableStack;

  private constructor(parts: Pick<Platform, "standalone" | "cluster" | "metricsUrls">, close: AsyncDisposableStack) {
    this.standalone = parts.standalone;
    this.cluster = parts.cluster;
    this.metricsUrls = parts.metricsUrls;
    this.#close = close;
  }

  static async start(): Promise<Platform> {
    await using close = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "perdure-observed-"));
    close.defer(() => rmSync(directory, { recursive: true, force: true }));
    const fileOf = (name: string, text: string): string => {
      const path = join(directory, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    };
    const [tenancyPort, operatorPort] = (await freePorts(2)) as [number, number];
    const cluster = close.use(await DevCluster.start({ workers: 1, gateways: 1 }));
    const standalone = close.use(await Server.start());
    const launch = async (service: string, settings: Record<string, string | number>): Promise<ServiceProgram> =>
      close.use(await ServiceProgram.launch({ service, settings: { "probes.bind-port": 0, ...settings } }));
    const tenancy = await launch("tenancy", {
      "metadata.postgres-url": cluster.postgres.url,
      "secrets.key-file": fileOf("keys", TEST_KEYS),
      "api.public-url": TEST_ISSUER,
      "api.bind-port": 0,
      "grpc.bind-port": tenancyPort,
      "cloud.domain": DOMAIN,
    });
    const tenancySettings = { domain: DOMAIN, "tenancy.addresses": `127.0.0.1:${tenancyPort}` };
    const gateway = await launch("cloud-gateway", { ...tenancySettings, "ingress.bind-port": 0, "admin.bind-port": 0 });
    const relay = await launch("tunnel-relay", { ...tenancySettings, "tunnels.bind-port": 0, "proxy.bind-port": 0 });
    await launch("operator", {
      "cell.region": "us",
      "cell.domain": DOMAIN,
      "images.registry": "registry.test/perdure",
      "kubernetes.kubeconfig-file": fileOf("kubeconfig", NOWHERE),
      "probes.bind-port": operatorPort,
    });
    const operatorUrl = `http://127.0.0.1:${operatorPort}/metrics`;
    await eventually("the operator reports its metrics", () =>
      scrape(operatorUrl).then(
        () => true,
        () => false,
      ),
    );
    const [worker] = cluster.workers as [ServiceProgram];
    const [ingress] = cluster.gateways as [ServiceProgram];
    const metricsUrls = new Map<Role, string>([
      ["standalone", `${standalone.adminUrl}/metrics`],
      ["admin", `${cluster.adminUrl}/metrics`],
      ["operator", operatorUrl],
    ]);
    const others = {
      gateway: ingress,
      worker,
      registry: cluster.registry,
      tenancy,
      "cloud-gateway": gateway,
      "tunnel-relay": relay,
    };
    for (const [role, program] of Object.entries(others)) {
      const probes = (await program.ready())["probes"] as string;
      metricsUrls.set(role as Role, probes.replace("localhost", "127.0.0.1").replace(/readyz$/, "metrics"));
    }
    return new Platform({ standalone, cluster, metricsUrls }, close.move());
  }

  /** Deploys a handler that sleeps to the server and to the cluster, and waits until both can call it. */
  async deploy(): Promise<void> {
    const endpoint = this.#close.use(await SdkEndpoint.start({ services: [suspendedService] }));
    for (const admin of [this.standalone.adminUrl, this.cluster.adminUrl]) {
      using client = new TestAdminClient(admin);
      await client.register({ uri: endpoint.url, use_http_11: endpoint.usesHttp11 });
    }
    for (const ingress of this.#ingressUrls) {
      using caller = new TestIngressClient(ingress);
      await eventually("the handler can be called", async () => (await nap(caller)).status === 200);
    }
  }

  /** Calls it so often through each. */
  async work(calls: number): Promise<void> {
    for (const ingress of this.#ingressUrls) {
      using caller = new TestIngressClient(ingress);
      const answers = await Promise.all(Array.from({ length: calls }, () => nap(caller)));
      const bad = answers.find(({ status }) => status !== 200);
      if (bad !== undefined) throw new Error(`a call was answered with ${bad.status}`);
    }
  }

  /** Sends requests with new names: unknown services, statements, paths, tenants. The answers do not matter. */
  async say(label: string): Promise<void> {
    const requests: Promise<Response>[] = [];
    for (let n = 0; n < LABEL_COUNT; n++) {
      for (const ingress of this.#ingressUrls) {
        requests.push(fetch(`${ingress}/${label}${n}/greet`, { method: "POST", body: label }));
        requests.push(fetch(`${ingress}/restate/invocation/${label}${n}/attach`));
      }
      for (const admin of [this.standalone.adminUrl, this.cluster.adminUrl]) {
        const query = JSON.stringify({ query: `SELECT '${label}' FROM ${label}${n}` });
        requests.push(fetch(`${admin}/query`, { method: "POST", headers: { "content-type": "application/json" }, body: query }));
        requests.push(fetch(`${admin}/services/${label}${n}`), fetch(`${admin}/${label}${n}`));
      }
    }
    for (const answer of requests) await (await answer).arrayBuffer();
  }

  get #ingressUrls(): readonly string[] {
    return [this.standalone.ingressUrl, this.cluster.ingressUrls[0] as string];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close.disposeAsync();
  }
}

function nap(caller: TestIngressClient): Promise<HttpAnswer> {
  return caller.call(["Sleeper", "nap"], NAP_MS);
}
