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
import { DevCloud, type ServiceProgram } from "@perdure/dev-cluster";
import { openTestTenancy, TEST_ISSUER, TEST_KEYS, type TestTenancy, type TestUser } from "@perdure/tenancy/testing";
import { eventually, type HttpAnswer, HttpClient } from "../../src/index.js";

export const DOMAIN = "perdure.test";
const READY_MS = 60_000;

/** A user with an account, environments and the means to make more. */
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
  /** Has a folder for each environment. */
  readonly environmentsDirectory: string;
  readonly tenancy: ServiceProgram;
  readonly gateways: readonly ServiceProgram[];
  readonly apiUrl: string;
  /** Addresses of each gateway's listeners. */
  readonly gatewayUrls: DevCloud["gatewayUrls"];
  readonly people: TestTenancy;
  readonly #clients = new Map<string, HttpClient>();
  readonly #close: AsyncDisposableStack;

  private constructor({ addresses, tenancy, gateways, gatewayUrls }: DevCloud, people: TestTenancy, close: AsyncDisposableStack) {
    this.environmentsDirectory = addresses.directory;
    this.tenancy = tenancy;
    this.gateways = gateways;
    this.apiUrl = `http://127.0.0.1:${addresses.apiPort}`;
    this.gatewayUrls = gatewayUrls;
    this.people = people;
    this.#close = close;
  }

  static async start({ onlyOrigins, gateways = 1 }: CloudOptions = {}): Promise<CloudWorld> {
    await using close = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "perdure-cloud-world-"));
    close.defer(() => rmSync(directory, { recursive: true, force: true }));
    const runtimeConfigFile = join(directory, "runtimes.toml");
    const allow = (onlyOrigins ?? []).map((origin) => `${origin}/`);
    writeFileSync(runtimeConfigFile, `[egress]\nallow = ${JSON.stringify(allow)}\n`);
    const settings = {
      tenancy: {
        "api.public-url": TEST_ISSUER,
        "cloud.domain": DOMAIN,
        "cloud.scheme": "https",
        "cloud.tunnels": "off",
        "cloud.ports-host": "127.0.0.1",
        "provisioner.egress": onlyOrigins === undefined ? "open" : "guarded",
      },
      "cloud-gateway": { domain: DOMAIN, issuer: TEST_ISSUER, "console-url": `https://console.${DOMAIN}` },
    };
    const cloud = close.use(await DevCloud.start({ gateways, hasRelay: false, settings, keys: TEST_KEYS, runtimeConfigFile }));
    const people = close.use(await openTestTenancy(cloud.addresses.postgresUrl));
    return new CloudWorld(cloud, people, close.move());
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
      const log = join(this.environmentsDirectory, id, "runtime.log");
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
      "its listener is open",
      async () => (await environment.request("admin", "GET", "/version")).status === 200,
      READY_MS,
    );
    return environment;
  }
}
