/**
 * The cloud as processes: tenancy on PostgreSQL, a gateway, and a runtime for each environment, used only over sockets. Users and plans
 * are written into tenancy's database.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "@perdure/base";
import { type AccountId, bareOf, type EnvironmentId, type KeyRole } from "@perdure/cloud";
import { CloudClient } from "@perdure/cloud-client";
import { type EmptyDatabase, freePortRange, freePorts, startDatabase } from "@perdure/servers";
import { openTestTenancy, TEST_ISSUER, TEST_KEYS, type TestTenancy, type TestUser } from "@perdure/tenancy/testing";
import { eventually, type HttpAnswer, HttpClient, programBundle, ServiceProgram } from "../../src/index.js";

export const DOMAIN = "perdure.test";
const READY_MS = 60_000;

/** Someone with an account, environments and the means to make more. */
export interface Customer {
  readonly user: TestUser;
  readonly accountId: AccountId;
  readonly client: CloudClient;
  environment(name?: string): Promise<CloudEnvironment>;
}

export interface CloudEnvironment {
  readonly id: EnvironmentId;
  readonly name: string;
  readonly accountId: AccountId;
  readonly ingressUrl: string;
  readonly adminUrl: string;
  readonly signingPublicKey: string;
  key(role?: KeyRole): Promise<{ readonly id: string; readonly text: string }>;
  /** `token`: what follows `Bearer `. */
  request(api: "ingress" | "admin", method: string, path: string, token?: string, json?: unknown): Promise<HttpAnswer>;
  /** Requests the environment's own host name at the shared listeners of a gateway, the first one by default. */
  requestByName(
    api: "ingress" | "admin",
    method: string,
    path: string,
    token?: string,
    json?: unknown,
    gateway?: number,
  ): Promise<HttpAnswer>;
}

export interface CloudOptions {
  /** Runtimes are guarded, and reach these origins of this machine only; otherwise they reach all of it. */
  readonly onlyOrigins?: readonly string[];
  readonly gateways?: number;
}

export class CloudWorld implements AsyncDisposable {
  readonly directory: string;
  readonly database: EmptyDatabase;
  readonly tenancy: ServiceProgram;
  readonly gateways: readonly ServiceProgram[];
  readonly apiUrl: string;
  /** Addresses of each gateway's listeners. */
  readonly gatewayUrls: readonly { readonly ingress: string; readonly admin: string; readonly probes: string }[];
  readonly people: TestTenancy;
  readonly #clients = new Map<string, HttpClient>();
  readonly #close: AsyncDisposableStack;

  private constructor(
    parts: Pick<CloudWorld, "directory" | "database" | "tenancy" | "gateways" | "apiUrl" | "gatewayUrls" | "people">,
    close: AsyncDisposableStack,
  ) {
    this.directory = parts.directory;
    this.database = parts.database;
    this.tenancy = parts.tenancy;
    this.gateways = parts.gateways;
    this.apiUrl = parts.apiUrl;
    this.gatewayUrls = parts.gatewayUrls;
    this.people = parts.people;
    this.#close = close;
  }

  static async start({ onlyOrigins, gateways: count = 1 }: CloudOptions = {}): Promise<CloudWorld> {
    await using close = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "perdure-cloud-"));
    close.defer(() => rmSync(directory, { recursive: true, force: true }));
    const database = close.use(await startDatabase());
    const [api, grpc, ...gatewayPorts] = (await freePorts(2 + 3 * count)) as [number, number, ...number[]];
    const environmentPorts = await freePortRange(20);
    const runtimePorts = await freePortRange(40);
    const keyFile = join(directory, "keys");
    writeFileSync(keyFile, TEST_KEYS, { mode: 0o600 });
    const configFile = join(directory, "runtimes.toml");
    const allow = (onlyOrigins ?? []).map((origin) => `${origin}/`);
    writeFileSync(configFile, `[egress]\nallow = ${JSON.stringify(allow)}\n`);
    const tenancy = close.use(
      await ServiceProgram.launch({
        service: "tenancy",
        settings: {
          "metadata.postgres-url": database.url,
          "secrets.key-file": keyFile,
          "api.public-url": TEST_ISSUER,
          "api.bind-port": api,
          "grpc.bind-port": grpc,
          "probes.bind-port": 0,
          "cloud.domain": DOMAIN,
          "cloud.ports-host": "127.0.0.1",
          "cloud.ports-first": environmentPorts.first,
          "provisioner.directory": join(directory, "environments"),
          "provisioner.program": await programBundle("services/standalone"),
          "provisioner.config-file": configFile,
          "provisioner.egress": onlyOrigins === undefined ? "open" : "guarded",
          "provisioner.ports-first": runtimePorts.first,
          "provisioner.ports-last": runtimePorts.last,
          "provisioner.on-stop": "stop",
        },
      }),
    );
    // Stopped instead of killed: it ends the runtimes that it has started.
    close.defer(async () => void (await tenancy.stop()));
    const gateways: ServiceProgram[] = [];
    const gatewayUrls: { ingress: string; admin: string; probes: string }[] = [];
    for (let n = 0; n < count; n++) {
      const [ingress, admin, probes] = gatewayPorts.slice(3 * n, 3 * n + 3) as [number, number, number];
      const settings = {
        domain: DOMAIN,
        issuer: TEST_ISSUER,
        "console-url": `https://console.${DOMAIN}`,
        "tenancy.addresses": `127.0.0.1:${grpc}`,
        "ingress.bind-port": ingress,
        "admin.bind-port": admin,
        "probes.bind-port": probes,
        "environment-ports.enabled": String(n === 0),
      };
      gateways.push(close.use(await ServiceProgram.launch({ service: "cloud-gateway", settings })));
      gatewayUrls.push({
        ingress: `http://127.0.0.1:${ingress}`,
        admin: `http://127.0.0.1:${admin}`,
        probes: `http://127.0.0.1:${probes}`,
      });
    }
    await Promise.all([tenancy, ...gateways].map((program) => program.ready()));
    const people = close.use(await openTestTenancy(database.url));
    const apiUrl = `http://127.0.0.1:${api}`;
    return new CloudWorld({ directory, database, tenancy, gateways, apiUrl, gatewayUrls, people }, close.move());
  }

  /** A new user with an account. */
  async customer(plan: "free" | "team" = "team"): Promise<Customer> {
    const user = await this.people.user();
    const accountId = await user.account(plan);
    const client = this.clientOf(user);
    return { user, accountId, client, environment: (name = "dev") => this.#environment(client, accountId, name) };
  }

  clientOf(user: TestUser): CloudClient {
    return new CloudClient({ baseUrl: this.apiUrl, accessToken: () => new Secret(user.token) });
  }

  /** The log of the first gateway, with a line for each request. */
  get log(): string {
    return this.gateways.flatMap(({ lines }) => lines).join("\n");
  }

  client(base: string): HttpClient {
    let client = this.#clients.get(base);
    if (client === undefined) {
      client = new HttpClient(base);
      this.#clients.set(base, client);
    }
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients.values()) client[Symbol.dispose]();
    await this.#close.disposeAsync();
  }

  /** Resolves when it answers. */
  async #environment(client: CloudClient, accountId: AccountId, name: string): Promise<CloudEnvironment> {
    const { environmentId: id } = await client.account(accountId, "CreateEnvironment", { name, region: "us" });
    const described = await eventually(
      `${name} is active`,
      async () => {
        const description = await client.account(accountId, "DescribeEnvironment", { environmentId: id });
        return description.status === "ACTIVE" ? description : undefined;
      },
      READY_MS,
    ).catch((cause: unknown) => {
      const log = join(this.directory, "environments", id, "runtime.log");
      const last = existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(-10) : [];
      throw new Error(`${name} does not get active:\n${[...this.tenancy.lines.slice(-10), ...last].join("\n")}`, { cause });
    });
    const { ingressBaseUrl: ingressUrl, adminBaseUrl: adminUrl, signingPublicKey } = described;
    const urls = { ingress: ingressUrl, admin: adminUrl };
    const headersOf = (token: string | undefined) => ({
      accept: "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    });
    const environment: CloudEnvironment = {
      id,
      name,
      accountId,
      ingressUrl,
      adminUrl,
      signingPublicKey,
      key: async (roleId = "rst:role::FullAccess") => {
        const made = await client.account(accountId, "CreateApiKey", { environmentId: id, roleId });
        return { id: made.keyId, text: made.apiKey };
      },
      request: (api, method, path, token, json) =>
        this.client(urls[api]).request(method, path, { headers: headersOf(token), ...(json === undefined ? {} : { json }) }),
      requestByName: (api, method, path, token, json, gateway = 0) =>
        this.client(this.gatewayUrls[gateway]?.[api] ?? "").request(method, path, {
          headers: { host: `${bareOf(id)}.env.us.${DOMAIN}`, ...headersOf(token) },
          ...(json === undefined ? {} : { json }),
        }),
    };
    await eventually(
      "its door is open",
      async () => (await environment.request("admin", "GET", "/version")).status === 200,
      READY_MS,
    );
    return environment;
  }
}
