/** The unmodified official CLI and published SDK on the real programs (cloud.md §1.1, §1.5, §8: 13, 15, 18–19, 25, 31, 41, 65). */
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { CommandResult } from "@perdure/processes";
import { service } from "@restatedev/restate-sdk";
import { Cli } from "../../src/cli/index.js";
import { eventually, SdkEndpoint } from "../../src/index.js";
import { type CloudEnvironment, CloudWorld, type Customer } from "./cloud-world.js";

const TEST_MS = 120_000;
const MIB = 1024 * 1024;

let world: CloudWorld;
let customer: Customer;
let environment: CloudEnvironment;
let endpoint: SdkEndpoint;
const greeter = service({
  name: "Greeter",
  handlers: { greet: async (ctx, name: string) => await ctx.run(() => `Hello ${name}`) },
});

beforeAll(async () => {
  world = await CloudWorld.start();
  customer = await world.customer();
  environment = await customer.environment();
  endpoint = await SdkEndpoint.start({ services: [greeter], identityKeys: [environment.signingPublicKey] });
}, TEST_MS);
afterAll(async () => {
  await endpoint?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

/** A home with the profile that `cloud env configure` writes, logged in or not. */
function profile(cli: Cli, credential: { readonly accessToken?: string; readonly bearerToken?: string }): void {
  const { accessToken, bearerToken } = credential;
  const lines = [
    "[global.cloud]",
    `api_base_url = "${world.apiUrl}"`,
    ...(accessToken === undefined ? [] : [`access_token = "${accessToken}"`]),
    "[dev]",
    'environment_type = "cloud"',
    `ingress_base_url = "${environment.ingressUrl}"`,
    `admin_base_url = "${environment.adminUrl}"`,
    ...(bearerToken === undefined ? [] : [`bearer_token = "${bearerToken}"`]),
    "[dev.cloud]",
    `account_id = "${environment.accountId}"`,
    `environment_id = "${environment.id}"`,
  ];
  writeFileSync(join(cli.home, "config/config.toml"), `${lines.join("\n")}\n`);
  writeFileSync(join(cli.home, "config/environment"), "dev\n");
}

const said = ({ stdout, stderr }: CommandResult): string => stdout + stderr;

async function runs(cli: Cli, ...args: string[]): Promise<string> {
  const result = await cli.run(args);
  expect([result.exitCode, result.exitCode === 0 ? "" : said(result)]).toEqual([0, ""]);
  return said(result);
}

describe("with the token of a login in the profile", () => {
  test(
    "whoami, register, list, call, query",
    async () => {
      await using cli = new Cli();
      profile(cli, { accessToken: customer.user.token });
      const who = await runs(cli, "whoami");
      expect(who).toMatch(/Logged in\?\s+true/);
      expect(who).toContain(environment.accountId);
      expect(who).toContain(environment.id);
      expect(who).toContain(`${environment.ingressUrl}/`);
      expect(await runs(cli, "-y", "deployments", "register", endpoint.url)).toContain("Greeter");
      expect(await runs(cli, "deployments", "list")).toContain("Greeter");
      expect(await runs(cli, "services", "list")).toContain("Greeter");
      // The service accepts only what this environment signed.
      const called = await environment.request("ingress", "POST", "/Greeter/greet", customer.user.token, "Ann");
      expect([called.status, called.json]).toEqual([200, "Hello Ann"]);
      await environment.request("ingress", "POST", "/Greeter/greet/send", customer.user.token, "Bo");
      expect(await runs(cli, "sql", "select count(*) as calls from sys_invocation")).toMatch(/CALLS\s+2\b/);
      expect(await runs(cli, "invocations", "list", "--all")).toContain("greet");
    },
    TEST_MS,
  );
});

describe("with a key in the profile, and no user logged in", () => {
  test(
    "a good one opens what its role opens",
    async () => {
      await using cli = new Cli();
      profile(cli, { bearerToken: (await environment.key()).text });
      expect(await runs(cli, "deployments", "list")).toContain("Greeter");
      profile(cli, { bearerToken: (await environment.key("rst:role::IngressAccess")).text });
      const refused = await cli.run(["deployments", "list"]);
      expect([refused.exitCode, said(refused)]).toEqual([1, expect.stringContaining("PERD0403")]);
    },
    TEST_MS,
  );

  test(
    "a wrong, a revoked and a foreign one are distinguished only as far as they may be",
    async () => {
      await using cli = new Cli();
      const { id, text } = await environment.key();
      profile(cli, { bearerToken: text });
      await runs(cli, "services", "list");
      await customer.client.account(environment.accountId, "DeleteApiKey", { environmentId: environment.id, keyId: id as never });
      const revoked = await eventually("it is refused", async () => {
        const result = await cli.run(["services", "list"]);
        return result.exitCode === 0 ? undefined : result;
      });
      expect([revoked.exitCode, said(revoked)]).toEqual([1, expect.stringContaining("PERD0401")]);
      profile(cli, { bearerToken: `${text.slice(0, -1)}${text.endsWith("a") ? "b" : "a"}` });
      const wrong = await cli.run(["services", "list"]);
      expect([wrong.exitCode, said(wrong)]).toEqual([1, said(revoked)]);
      const who = await cli.run(["whoami"]);
      expect([who.exitCode, said(who)]).toEqual([0, expect.stringContaining("401 Unauthorized")]);
      const other = await customer.environment("other");
      profile(cli, { bearerToken: (await other.key()).text });
      const elsewhere = await cli.run(["services", "list"]);
      expect([elsewhere.exitCode, said(elsewhere)]).toEqual([1, expect.stringContaining("PERD0403")]);
      expect(world.log).toContain(id);
      for (const secret of [text, text.slice(text.indexOf(".") + 1)]) expect(world.log).not.toContain(secret);
    },
    TEST_MS,
  );
});

test(
  "T18: the login of another provider, which the command line sends along, is a 401 whose text and log hold none of it",
  async () => {
    await using cli = new Cli();
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { iss: "https://api.workos.com/user_management", sub: "user_x", exp: Math.floor(Date.now() / 1_000) + 3_600 };
    const foreign = `${part({ alg: "RS256", kid: "k" })}.${part(claims)}.c2lnbmF0dXJl`;
    profile(cli, { accessToken: foreign });
    const refused = await cli.run(["services", "list"]);
    expect([refused.exitCode, said(refused)]).toEqual([1, expect.stringContaining("PERD0401")]);
    for (const text of [said(refused), world.log, world.tenancy.lines.join("\n")]) {
      expect(text).not.toContain("c2lnbmF0dXJl");
      expect(text).not.toContain("user_x");
    }
  },
  TEST_MS,
);

test(
  "a service that has both keys refuses no request while its environment changes from one to the other, and then needs the new one only",
  async () => {
    const own = await customer.environment("rotated");
    const { text } = await own.key();
    const change = (operation: "RotateSigningKey" | "PromoteSigningKey" | "RetireSigningKey", more: object = {}) =>
      customer.client.account(own.accountId, operation, { environmentId: own.id, ...more });
    const { nextSigningPublicKey: next = "" } = await change("RotateSigningKey");
    const signers = new Set<string>();
    const both = await SdkEndpoint.start({
      services: [greeter],
      identityKeys: [own.signingPublicKey, next],
      onRequest: (_path, headers) => signers.add(signerOf(headers)),
    });
    const register = (uri: string) => own.request("admin", "POST", "/deployments", text, { uri });
    expect((await register(both.url)).status).toBe(201);
    expect([...signers]).toEqual([own.signingPublicKey]);

    // Calls continue meanwhile; the runtime restarts with the key, so some calls get `Retry-After`.
    const statuses = new Map<number, number>();
    let isOver = false;
    const calling = (async () => {
      while (!isOver) {
        const { status } = await own.request("ingress", "POST", "/Greeter/greet", text, "Ann");
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    try {
      await eventually("calls are answered", () => (statuses.get(200) ?? 0) > 10);
      expect(await change("PromoteSigningKey")).toMatchObject({ signingPublicKey: next });
      await eventually("requests are signed with the next key", () => signers.has(next), TEST_MS / 2);
      const answered = statuses.get(200) ?? 0;
      await eventually("calls are answered then too", () => (statuses.get(200) ?? 0) > answered + 10, TEST_MS / 2);
    } finally {
      isOver = true;
      await calling;
    }
    expect([...signers].toSorted()).toEqual([own.signingPublicKey, next].toSorted());
    expect([...statuses.keys()].filter((status) => ![200, 502, 503].includes(status))).toEqual([]);
    const failed = "SELECT count(*) AS n FROM sys_journal_events WHERE event_json LIKE '%HTTP status 401%'";
    const { json } = await own.request("admin", "POST", "/query", text, { query: failed });
    expect(json).toMatchObject({ rows: [{ n: 0 }] });

    expect(await change("RetireSigningKey", { force: true })).toMatchObject({ signingPublicKeys: [next] });
    await both[Symbol.asyncDispose]();
    for (const [key, outcome] of [
      [own.signingPublicKey, "refused with 401"],
      [next, "registered"],
    ] as const) {
      const one = await SdkEndpoint.start({ services: [greeter], identityKeys: [key] });
      const answer = await register(one.url);
      expect(answer.status === 201 ? "registered" : `refused with ${/\b401\b/.exec(answer.text)}`).toBe(outcome);
      await one[Symbol.asyncDispose]();
    }
  },
  TEST_MS,
);

/** The id of the key in a request's signature. */
function signerOf(headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const [header = ""] = String(headers["x-restate-jwt-v1"]).split(".");
  return (JSON.parse(Buffer.from(header, "base64url").toString()) as { kid: string }).kid;
}

/** Of a process of this machine. */
function residentMib(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}

test(
  "100 MiB of an answer to a query pass, and the gateway grows by less than 32 MiB",
  async () => {
    const { text } = await environment.key();
    const { pid } = world.gateways[0] ?? { pid: 0 };
    const rows = (mib: number) => `SELECT '${"x".repeat(1_024)}' AS x, range AS n FROM range(${1_024 * mib})`;
    const stream = async (mib: number): Promise<{ status: number; bytes: number; peak: number }> =>
      await new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${text}`, accept: "application/json", "content-type": "application/json" };
        const outgoing = request(`${environment.adminUrl}/query`, { method: "POST", headers, agent: false }, (answer) => {
          let bytes = 0;
          let peak = 0;
          answer.on("data", (chunk: Buffer) => {
            bytes += chunk.length;
            peak = Math.max(peak, residentMib(pid));
          });
          answer.on("end", () => resolve({ status: answer.statusCode ?? 0, bytes, peak }));
          answer.on("error", reject);
        });
        outgoing.on("error", reject);
        outgoing.end(JSON.stringify({ query: rows(mib) }));
      });
    await stream(1); // Accepts the code, which was not used before.
    const before = residentMib(pid);
    const { status, bytes, peak } = await stream(100);
    expect([status, bytes >= 100 * MIB]).toEqual([200, true]);
    expect(peak - before).toBeLessThan(32);
  },
  TEST_MS,
);
