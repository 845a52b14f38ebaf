/** Why: the listeners of the cloud's programs: tenancy, gateway, relay, tunnel client and operator, with an environment behind them. */

import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Secret } from "@perdure/base";
import { bareOf, type EnvironmentId } from "@perdure/cloud";
import { CloudClient } from "@perdure/cloud-client";
import {
  cloudGatewaySettings,
  type LocalCloud,
  programBundle,
  type RoleSettings,
  ServiceProgram,
  tenancySettings,
  tunnelRelaySettings,
} from "@perdure/dev-cluster";
import { freePortRange, freePorts } from "@perdure/servers";
import { openTestTenancy, TEST_ISSUER, TEST_KEYS } from "@perdure/tenancy/testing";
import { eventually } from "../../src/eventually.js";
import { RawEndpoint } from "../../src/raw-endpoint.js";
import { TestListener } from "../../src/sdk-endpoint.js";
import {
  ADMIN_REQUESTS,
  answer,
  grpcTarget,
  httpTarget,
  INGRESS_REQUESTS,
  listeningTarget,
  PROBE_REQUESTS,
  probesTarget,
  SERVICE,
} from "./cluster-targets.js";
import type { Requests } from "./draw-http2.js";
import { HostilePorts } from "./hostile.js";
import { ENVIRONMENT_READY_MS, HANDSHAKES_PER_MINUTE, HOSTILE_RELAY_MS, HOSTILE_RELAYS, RELAY_SERVED_MS } from "./limits.js";
import { expectRelayPreface, expectStatus, ProgramSubject, type Target } from "./subject.js";

const DOMAIN = "perdure.test";
const TUNNEL = "fuzzed";
const RUNTIME_PORTS_COUNT = 40;

/** An API server at which nothing listens: the operator waits for it, and its probes answer meanwhile. */
const NOWHERE = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "nowhere",
  contexts: [{ name: "nowhere", context: { cluster: "nowhere", user: "nobody" } }],
  clusters: [{ name: "nowhere", cluster: { server: "http://127.0.0.1:1" } }],
  users: [{ name: "nobody", user: {} }],
});

const API_REQUESTS: Requests = {
  authority: "localhost",
  paths: [
    "/healthz",
    "/login",
    "/sign-up",
    "/",
    "/cloud/ListAccounts",
    "/.well-known/jwks.json",
    "/oauth/token",
    "/device",
    "/console",
  ],
  headers: { "content-type": "application/json", authorization: "Bearer x" },
};

/** The environment that everything is about. */
interface Environment {
  readonly id: EnvironmentId;
  readonly key: string;
  readonly signingPublicKey: string;
  readonly ingressUrl: string;
  readonly adminUrl: string;
}

export class CloudTargets implements AsyncDisposable {
  readonly #targets: Target[] = [];
  readonly #close = new AsyncDisposableStack();
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  get targets(): readonly Target[] {
    return this.#targets;
  }

  /** `directory`: for keys and data of environments; the caller removes it. */
  static async start(postgresUrl: string, directory: string): Promise<CloudTargets> {
    const cloud = new CloudTargets(directory);
    try {
      await cloud.#assemble(postgresUrl);
      return cloud;
    } catch (cause) {
      await cloud[Symbol.asyncDispose]();
      throw cause;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close.disposeAsync();
  }

  async #launch(service: string, settings: RoleSettings): Promise<ServiceProgram> {
    return this.#close.use(await ServiceProgram.launch({ service, settings }));
  }

  #file(name: string, text: string): string {
    const path = join(this.#directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  async #assemble(postgresUrl: string): Promise<void> {
    const [apiPort, tenancyPort, tunnelPort, tunnelProxyPort, operatorPort] = (await freePorts(5)) as [
      number,
      number,
      number,
      number,
      number,
    ];
    const local: LocalCloud = {
      postgresUrl,
      apiPort,
      tenancyPort,
      tunnelPort,
      tunnelProxyPort,
      firstEnvironmentPort: (await freePortRange(20)).first,
      runtimePorts: await freePortRange(RUNTIME_PORTS_COUNT),
      directory: join(this.#directory, "environments"),
      keyFile: this.#file("keys", TEST_KEYS),
      serverProgram: await programBundle("services/standalone"),
    };
    mkdirSync(local.directory);
    const [tenancy, gateway, relay, operator] = await Promise.all(this.#programs(local, operatorPort));
    // Not killed: it ends the runtimes that it started.
    this.#close.defer(async () => void (await tenancy.stop()));
    await Promise.all([tenancy, gateway, relay].map((program) => program.ready()));
    const apiUrl = `http://127.0.0.1:${apiPort}`;
    const environment = await this.#environment(postgresUrl, apiUrl, "healthy");
    const hostile = await this.#environment(postgresUrl, apiUrl, "hostile");
    const ofRelay = new ProgramSubject("tunnel-relay", relay, await relay.ready());
    const ofTunnels = await this.#tunnelClientTargets(ofRelay, environment);
    this.#targets.push(
      ...tenancyTargets(new ProgramSubject("tenancy", tenancy, await tenancy.ready())),
      ...gatewayTargets(new ProgramSubject("cloud-gateway", gateway, await gateway.ready()), environment, hostile),
      ...relayTargets(ofRelay, environment),
      ...ofTunnels,
      operatorTarget(operator, operatorPort),
    );
  }

  #programs(
    local: LocalCloud,
    operatorPort: number,
  ): [Promise<ServiceProgram>, Promise<ServiceProgram>, Promise<ServiceProgram>, Promise<ServiceProgram>] {
    return [
      this.#launch("tenancy", {
        ...tenancySettings(local, { probes: 0 }),
        "api.public-url": TEST_ISSUER,
        "cloud.domain": DOMAIN,
      }),
      this.#launch("cloud-gateway", {
        ...cloudGatewaySettings(local, { ingress: 0, admin: 0, probes: 0 }),
        domain: DOMAIN,
        issuer: TEST_ISSUER,
      }),
      this.#launch("tunnel-relay", {
        ...tunnelRelaySettings(local, { probes: 0 }),
        "handshakes-per-minute": HANDSHAKES_PER_MINUTE,
      }),
      this.#launch("operator", {
        "cell.region": "us",
        "cell.domain": DOMAIN,
        "images.registry": "registry.test/perdure",
        "kubernetes.kubeconfig-file": this.#file("kubeconfig", NOWHERE),
        "probes.bind-port": operatorPort,
      }),
    ];
  }

  async #environment(postgresUrl: string, apiUrl: string, name: string): Promise<Environment> {
    await using people = await openTestTenancy(postgresUrl);
    const user = await people.user();
    const accountId = await user.account("team");
    const client = new CloudClient({ baseUrl: apiUrl, accessToken: () => new Secret(user.token) });
    const { environmentId: id } = await client.account(accountId, "CreateEnvironment", { name, region: "us" });
    const described = await eventually(
      `the environment ${name} is active`,
      async () => {
        const result = await client.account(accountId, "DescribeEnvironment", { environmentId: id });
        return result.status === "ACTIVE" ? result : undefined;
      },
      ENVIRONMENT_READY_MS,
    );
    const { apiKey: key } = await client.account(accountId, "CreateApiKey", {
      environmentId: id,
      roleId: "rst:role::FullAccess",
    });
    const { ingressBaseUrl, adminBaseUrl, signingPublicKey } = described;
    const at = (url: string): string => url.replace("localhost", "127.0.0.1").replace(/\/$/, "");
    return { id, key, signingPublicKey, ingressUrl: at(ingressBaseUrl), adminUrl: at(adminBaseUrl) };
  }

  /** The tunnel client as a program, and once more with relays that are hostile. */
  async #tunnelClientTargets(relay: ProgramSubject, environment: Environment): Promise<readonly Target[]> {
    const behind = await this.#http((_request, response) => response.end("behind the port"));
    const target = `http://127.0.0.1:${behind}`;
    const endpoint = this.#close.use(await RawEndpoint.start({ scripts: { [SERVICE]: answer } }));
    const settings: RoleSettings = {
      "tunnel.environment-id": environment.id,
      "tunnel.name": TUNNEL,
      "tunnel.signing-public-keys": environment.signingPublicKey,
      "tunnel.credential-file": this.#file("api-key", `${environment.key}\n`),
      "tunnel.allow": endpoint.url,
      "probes.bind-address": "127.0.0.1",
      "probes.bind-port": 0,
    };
    const honest = `http://127.0.0.1:${relay.portOf("tunnels")}`;
    const client = await this.#launch("tunnel-client", {
      ...settings,
      "tunnel.servers": honest,
      "remote-proxy.enabled": "true",
      "remote-proxy.bind-address": "127.0.0.1",
      "remote-proxy.ingress-port": 0,
      "remote-proxy.admin-port": 0,
      "remote-proxy.ingress-url": target,
      "remote-proxy.admin-url": target,
    });
    const subject = new ProgramSubject("tunnel-client", client, await client.ready());
    const hostile = this.#close.use(await HostilePorts.open(HOSTILE_RELAYS, () => relay.portOf("tunnels")));
    const servers = [honest, ...hostile.ports.map((port) => `http://127.0.0.1:${port}`)].join(",");
    const dialling = await this.#launch("tunnel-client", {
      ...settings,
      "tunnel.name": `${TUNNEL}-2`,
      "tunnel.servers": servers,
    });
    const ofDialling = new ProgramSubject("tunnel-client", dialling, await dialling.ready());
    const behindTunnel = `/${bareOf(environment.id)}/${TUNNEL}/http/127.0.0.1/${new URL(endpoint.url).port}`;
    await eventually("the endpoint behind the tunnel is registered", () =>
      expectStatus(`${environment.adminUrl}/deployments`, 201, {
        method: "POST",
        headers: { authorization: `Bearer ${environment.key}`, "content-type": "application/json" },
        body: JSON.stringify({ uri: `http://127.0.0.1:${relay.portOf("proxy")}${behindTunnel}` }),
      }).then(() => true),
    );
    return [
      httpTarget(subject, "ingress", INGRESS_REQUESTS, "/S/h"),
      httpTarget(subject, "admin", ADMIN_REQUESTS, "/version"),
      probesTarget(subject),
      dialledByTunnelClient(ofDialling, hostile),
    ];
  }

  /** Port of a server of this process. */
  async #http(answer: NonNullable<Parameters<typeof createServer>[1]>): Promise<number> {
    const server: Server = createServer(answer);
    const listener = await TestListener.open(server, 0);
    this.#close.defer(() => listener.close());
    return listener.port;
  }
}

function tenancyTargets(tenancy: ProgramSubject): readonly Target[] {
  return [httpTarget(tenancy, "api", API_REQUESTS, "/login"), grpcTarget(tenancy), probesTarget(tenancy)];
}

/**
 * The fuzzer has a key of one environment, and healthy requests are for another one: the share of the first is used up, and what is
 * refused for it is refused slowly.
 */
function gatewayTargets(gateway: ProgramSubject, healthy: Environment, hostile: Environment): readonly Target[] {
  const hostOf = ({ id }: Environment): string => `${bareOf(id)}.env.us.${DOMAIN}`;
  const authorization = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
  const listener = (name: string, port: () => number, requests: Requests, path: string): Target =>
    listeningTarget({
      name: `cloud-gateway ${name}`,
      subject: gateway,
      port,
      speech: "http",
      requests: {
        ...requests,
        authority: hostOf(hostile),
        headers: { ...requests.headers, ...authorization(hostile.key) },
      },
      healthy: (at) =>
        expectStatus(`http://127.0.0.1:${at}${path}`, 200, {
          headers: { ...authorization(healthy.key), host: hostOf(healthy) },
        }),
    });
  const portOf = (url: string) => (): number => Number(new URL(url).port);
  return [
    listener("ingress", () => gateway.portOf("ingress"), INGRESS_REQUESTS, "/restate/health"),
    listener("admin", () => gateway.portOf("admin"), ADMIN_REQUESTS, "/health"),
    listener("ingress of an environment", portOf(healthy.ingressUrl), INGRESS_REQUESTS, "/restate/health"),
    listener("admin of an environment", portOf(healthy.adminUrl), ADMIN_REQUESTS, "/health"),
    probesTarget(gateway),
  ];
}

/** A call whose endpoint is behind the tunnel: gateway, runtime, relay and tunnel client, and back. */
function expectCallThroughTunnel({ ingressUrl, key }: Environment): Promise<void> {
  return expectStatus(`${ingressUrl}/${SERVICE}/run`, 200, { method: "POST", headers: { authorization: `Bearer ${key}` } });
}

function relayTargets(relay: ProgramSubject, environment: Environment): readonly Target[] {
  const { id, key } = environment;
  const path = `/${bareOf(id)}/${TUNNEL}/http/127.0.0.1/1/invoke/S/h`;
  const proxy: Requests = {
    authority: "localhost",
    paths: [path, `${path}?x=1`, "/", "/_/health", "/_/start-tunnel", "/x/y/http/h/1/z"],
    headers: { "x-perdure-tunnel-token": "rt_0", "x-restate-signature-scheme": "v1", "x-restate-jwt-v1": "a.b.c" },
  };
  const tunnels: Requests = {
    authority: "localhost",
    paths: ["/"],
    headers: { authorization: `Bearer ${key}`, "environment-id": id, "tunnel-name": "other", "supports-drain": "true" },
  };
  return [
    listeningTarget({
      name: "tunnel-relay tunnels",
      subject: relay,
      port: () => relay.portOf("tunnels"),
      speech: "tunnel",
      requests: tunnels,
      async healthy(port) {
        await expectRelayPreface(port);
        await expectCallThroughTunnel(environment);
      },
    }),
    listeningTarget({
      name: "tunnel-relay proxy",
      subject: relay,
      port: () => relay.portOf("proxy"),
      speech: "http",
      requests: proxy,
      healthy: () => expectCallThroughTunnel(environment),
    }),
    probesTarget(relay),
  ];
}

function dialledByTunnelClient(subject: ProgramSubject, hostile: HostilePorts): Target {
  const requests: Requests = {
    authority: "localhost",
    paths: ["/_/start-tunnel", "/_/start-tunnel", "/_/health", "/_/drain-tunnel", "/http/127.0.0.1/1/invoke/S/h"],
    headers: { "x-restate-tunnel-http-version": "HTTP/2.0" },
  };
  const target: Target = {
    name: "tunnel-client relays",
    subject,
    port: undefined,
    speech: "relay",
    requests,
    async send(connections) {
      await delay(RELAY_SERVED_MS);
      return hostile.send(connections, HOSTILE_RELAY_MS);
    },
    healthy: () => expectStatus(`http://127.0.0.1:${subject.portOf("probes")}/readyz`, 200),
  };
  return target;
}

function operatorTarget(program: ServiceProgram, port: number): Target {
  // It is never ready, because there is no Kubernetes; its port is known, and the process is alive.
  const subject = {
    name: "operator",
    get pid() {
      return program.pid;
    },
    get isRunning() {
      return program.isRunning;
    },
    get lastLines() {
      return program.lines.slice(-30);
    },
    async restart() {
      if (program.isRunning) await program.kill();
      await program.startAgain();
    },
  };
  return listeningTarget({
    name: "operator probes",
    subject,
    port: () => port,
    speech: "http",
    requests: PROBE_REQUESTS,
    healthy: (at) => expectStatus(`http://127.0.0.1:${at}/metrics`, 200),
  });
}
