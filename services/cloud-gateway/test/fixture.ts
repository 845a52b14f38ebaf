/** A gateway on free ports, a tenancy in memory, and runtimes whose answers a test scripts. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, type Logger, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { bareOf, type EnvironmentFacts } from "@perdure/cloud";
import { exampleEnvironment, exampleLimits, MemoryTenancy } from "@perdure/cloud/testing";
import type { Edge } from "@perdure/telemetry";
import {
  type CloudGateway,
  createCloudGateway,
  type GatewayEndpoint,
  type GatewayOptions,
  type ListenOptions,
} from "../src/index.js";
import type { GatewayMetrics } from "../src/metrics.js";
import { type Http, send, type TestAnswer, type TestRequest, type TlsOptions } from "./client.js";

export const DOMAIN = "perdure.test";
export const ISSUER = "https://api.us.perdure.test";
export const CONSOLE = "https://console.perdure.test";

/** A request as a runtime received it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export type Script = (req: IncomingMessage, res: ServerResponse) => void;

/** An HTTP server of its own; by default it answers 200 with the received request, as JSON. */
export interface TestRuntime extends AsyncDisposable {
  readonly origin: string;
  readonly requests: ReceivedRequest[];
  /** Number of requests that began. */
  readonly started: number;
  readonly aborted: number;
  script: Script | undefined;
}

export async function startRuntime(script?: Script): Promise<TestRuntime> {
  const requests: ReceivedRequest[] = [];
  const state = { started: 0, aborted: 0, script };
  const server = createServer((req, res) => {
    state.started++;
    res.on("close", () => {
      if (!res.writableFinished) state.aborted++;
    });
    if (state.script !== undefined) return state.script(req, res);
    let body = "";
    req.setEncoding("latin1").on("data", (chunk: string) => {
      body += chunk;
    });
    req.on("end", () => {
      const one = { method: req.method ?? "", url: req.url ?? "", rawHeaders: req.rawHeaders, body };
      requests.push(one);
      const ours = { "x-perdure-operation": "op_1", "x-perdure-node": "inside" };
      res.writeHead(200, { "content-type": "application/json", "x-restate-id": "inv_1", server: "inside", ...ours });
      res.end(JSON.stringify(one));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get started() {
      return state.started;
    },
    get aborted() {
      return state.aborted;
    },
    get script() {
      return state.script;
    },
    set script(changed) {
      state.script = changed;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Large enough for tests that are not about limits. */
export const generousLimits: EnvironmentFacts["limits"] = {
  ...exampleLimits,
  ingressRate: { perSecond: 100_000, burst: 100_000 },
  adminRate: { perSecond: 100_000, burst: 100_000 },
  bodyBytesMax: 32 * 1024 * 1024,
};

export interface GatewayFixture extends AsyncDisposable {
  readonly gateway: CloudGateway;
  readonly tenancy: MemoryTenancy;
  readonly ports: Readonly<Record<GatewayEndpoint, number>>;
  /** Log lines: fields and message. */
  readonly lines: { readonly level: string; readonly fields: Record<string, unknown>; readonly message: string }[];
  /** An active environment in front of a runtime, added to the tenancy. */
  environment(runtime: TestRuntime | undefined, set?: Partial<EnvironmentFacts>): EnvironmentFacts;
  call(
    http: Http,
    endpoint: GatewayEndpoint,
    facts: EnvironmentFacts,
    request?: TestRequest,
    tls?: TlsOptions,
  ): Promise<TestAnswer>;
}

export interface FixtureSettings {
  /** A tenancy that another gateway uses too. */
  readonly tenancy?: MemoryTenancy;
  readonly clock?: Clock;
  readonly metrics?: GatewayMetrics;
  readonly edge?: Edge | undefined;
  readonly options?: Partial<GatewayOptions>;
  readonly listen?: Partial<ListenOptions>;
}

export async function startGateway({
  clock = systemClock,
  tenancy = new MemoryTenancy(),
  metrics,
  edge,
  options,
  listen,
}: FixtureSettings = {}): Promise<GatewayFixture> {
  const lines: GatewayFixture["lines"] = [];
  const note =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push({ level, fields: { ...fields }, message });
    };
  const logger: Logger = { ...silentLogger, info: note("info"), warn: note("warn"), error: note("error") };
  const gateway = createCloudGateway(
    { tenancy, clock, random: systemRandom, logger, metrics, edge },
    { region: "us", domain: DOMAIN, issuer: ISSUER, consoleUrl: CONSOLE, drainMs: 500, ...options },
  );
  const open = async (endpoint: GatewayEndpoint): Promise<number> =>
    (await gateway.listen({ host: "127.0.0.1", port: 0, ...listen, endpoint })).address.port;
  const ports = { ingress: await open("ingress"), admin: await open("admin") };
  return {
    gateway,
    tenancy,
    ports,
    lines,
    environment: (runtime, set = {}) => {
      const upstream = runtime === undefined ? undefined : { ingress: runtime.origin, admin: runtime.origin };
      return tenancy.put(exampleEnvironment({ upstream, limits: generousLimits, ...set }));
    },
    call: (http, endpoint, facts, request = {}, tls) => send(http, ports[endpoint], { host: hostOf(facts), ...request }, tls),
    [Symbol.asyncDispose]: () => gateway.close(),
  };
}

export function hostOf(facts: EnvironmentFacts): string {
  return `${bareOf(facts.id)}.env.us.${DOMAIN}`;
}

export const bearer = (credential: string): readonly string[] => ["authorization", `Bearer ${credential}`];

/** Values of a header in a raw list. */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
}
