/**
 * The part of the cloud that a command line uses: a real tenancy on PostgreSQL, whose runtimes are ready as soon as they are requested, and
 * a server at their addresses that records the credentials it receives.
 */
import { createServer, type Server } from "node:http";
import { Secret } from "@perdure/base";
import { MemoryProvisioner } from "@perdure/cloud/testing";
import { createReconciler } from "@perdure/environments";
import type { RunningCommand } from "@perdure/processes";
import { type EmptyDatabase, freePorts, startDatabase } from "@perdure/servers";
import { BrowserClient, openTestTenancy, type TestTenancy } from "@perdure/tenancy/testing";
import type { Home } from "./home.js";

export const PASSWORD = "correct horse battery";

export interface Knock {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

export class SmallCloud implements AsyncDisposable {
  readonly tenancy: TestTenancy;
  readonly provisioner: MemoryProvisioner;
  readonly #database: EmptyDatabase;
  readonly #reconciler: AsyncDisposable;
  readonly #endpoints: FakeEndpoint[] = [];
  #people = 0;

  private constructor(parts: {
    tenancy: TestTenancy;
    provisioner: MemoryProvisioner;
    database: EmptyDatabase;
    reconciler: AsyncDisposable;
  }) {
    this.tenancy = parts.tenancy;
    this.provisioner = parts.provisioner;
    this.#database = parts.database;
    this.#reconciler = parts.reconciler;
  }

  static async start(): Promise<SmallCloud> {
    const database = await startDatabase();
    const [first] = (await freePorts(1)) as [number];
    // Tokens name their issuer; here it is the address of the request, as in production.
    const tenancy = await openTestTenancy(database.url, { withPorts: first });
    const provisioner = new MemoryProvisioner();
    provisioner.onApply = ({ environmentId }) =>
      provisioner.ready(environmentId, {
        ingress: "http://127.0.0.1:1",
        admin: "http://127.0.0.1:1",
        secret: new Secret("between us"),
      });
    const reconciler = createReconciler({ ...tenancy.ports, provisioner, mayAct: () => true }, { withTunnels: false });
    return new SmallCloud({ tenancy, provisioner, database, reconciler });
  }

  get origin(): string {
    return this.tenancy.origin;
  }

  /** Signs up a new user, in a browser. */
  async person(name = "Ada"): Promise<{ readonly browser: BrowserClient; readonly email: string }> {
    await this.#clearAttempts();
    const email = `cli${this.#people++}@perdure.test`;
    const browser = new BrowserClient(this.origin);
    const { status } = await browser.submit("/sign-up", "/sign-up", { email, password: PASSWORD, name });
    if (status !== 303) throw new Error(`signing up answered ${status}`);
    return { browser, email };
  }

  async approve(browser: BrowserClient, running: RunningCommand, decision?: string): Promise<void> {
    await this.#clearAttempts();
    await approve(browser, running, decision);
  }

  /** Attempts of one address are limited per minute, and all of a suite come from one address. */
  async #clearAttempts(): Promise<void> {
    await this.tenancy.ports.database.tables.session.write("DELETE FROM perdure_attempts");
  }

  /** `perdure login` to its end in all these homes, which send their requests in turn. */
  async logIn(browser: BrowserClient, ...homes: readonly Home[]): Promise<readonly RunningCommand[]> {
    const all = homes.map((home) => home.start(["login", "--no-browser"]));
    for (const running of all) await this.approve(browser, running);
    for (const running of all) {
      const { exitCode, stderr } = await running.ended;
      if (exitCode !== 0) throw new Error(`perdure login: ${exitCode}\n${stderr}`);
    }
    return all;
  }

  /** Serves an address of an environment, as a gateway would. */
  async endpoint(url: string): Promise<FakeEndpoint> {
    const endpoint = await FakeEndpoint.open(url);
    this.#endpoints.push(endpoint);
    return endpoint;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#endpoints.map((endpoint) => endpoint[Symbol.asyncDispose]()));
    await this.#reconciler[Symbol.asyncDispose]();
    await this.provisioner[Symbol.asyncDispose]();
    await this.tenancy[Symbol.asyncDispose]();
    await this.#database[Symbol.asyncDispose]();
  }
}

/** Approves the code that a command shows. */
export async function approve(browser: BrowserClient, running: RunningCommand, decision = "approve"): Promise<void> {
  const [, code = ""] = await running.until(/\b([B-Z]{4}-[B-Z]{4})\b/);
  const answer = await browser.submit(`/device?user_code=${code}`, "/device/decide", { user_code: code, decision });
  if (answer.status !== 200) throw new Error(`deciding answered ${answer.status}: ${answer.text}`);
}

/** The first requests of a command line to a management API. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  "/services": { services: [] },
  "/deployments": { deployments: [] },
  "/health": {},
  "/query": { rows: [] },
};

export class FakeEndpoint implements AsyncDisposable {
  readonly knocks: Knock[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens at this port; port 0 takes a free one. */
  static async open(url: string): Promise<FakeEndpoint> {
    const server = createServer((request, response) => {
      const path = (request.url ?? "/").replace(/\?.*$/, "").replace(/^\/v\d+\//, "/");
      const { authorization } = request.headers;
      endpoint.knocks.push({ method: request.method ?? "", path, authorization });
      const [status, body] =
        path === "/version"
          ? [200, { version: "1.7.12", min_admin_api_version: 2, max_admin_api_version: 4, ingress_endpoint: url }]
          : authorization === undefined
            ? [401, { code: 401, message: "who are you?", restate_code: "PERD0401", request_id: "1" }]
            : [ANSWERS[path] === undefined ? 404 : 200, ANSWERS[path] ?? { code: 404, message: "nothing here" }];
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    const endpoint = new FakeEndpoint(server);
    const { hostname, port } = new URL(url);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(Number(port || 0), hostname, resolve);
    });
    return endpoint;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
