/**
 * The unmodified tunnel of the official CLI (cloud.md §8, 39–41, 46, 51, 61). It finds relays only by SRV records of the machine's
 * resolver, so this suite runs itself again in a network namespace with its own name server.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { bareOf } from "@perdure/cloud";
import { eventually, SdkEndpoint, Server, TestAdminClient, TestIngressClient } from "@perdure/conformance";
import { ROOT } from "@perdure/dev-cluster";
import { makeCertificates, until } from "@perdure/testkit";
import { service } from "@restatedev/restate-sdk";
import { serveNames } from "./dns.js";
import { aWorld, PUBLIC_PROXY } from "./fixture.js";
import { aWire } from "./wire.js";

const IS_INSIDE = process.env["PERDURE_TEST_OWN_NETWORK"] === "1";
const SRV_NAME = "tunnel.us.perdure.test";
const TIMEOUT_MS = 180_000;
/** Shorter than the outer timeout, so that the outer process reports a test that hangs. */
const INSIDE_TIMEOUT_MS = 90_000;
/** The CLI waits longer after each attempt, and a busy machine can make attempts fail. */
const RECONNECT_MS = 60_000;

if (IS_INSIDE) describe("the official command line", insideTests);
else
  test(
    "the official command line opens a tunnel, registers through it and serves, in a network of its own",
    async () => {
      const refusal = noNetworkOfOurOwn();
      if (refusal !== undefined) return console.warn(`The official command line's tunnel was not tried: ${refusal}`);
      const folder = mkdtempSync(join(tmpdir(), "perdure-network-"));
      const resolver = join(folder, "resolv.conf");
      writeFileSync(resolver, "nameserver 127.0.0.1\n");
      const jest = [process.execPath, "--no-warnings", join(ROOT, "node_modules/jest/bin/jest.js")];
      const command = [...jest, fileURLToPath(import.meta.url)].map((part) => `'${part}'`).join(" ");
      const script = `ip link set lo up && mount --bind '${resolver}' /etc/resolv.conf && exec ${command}`;
      const child = spawn("unshare", ["--user", "--map-root-user", "--net", "--mount", "sh", "-c", script], {
        cwd: ROOT,
        env: { ...process.env, PERDURE_TEST_OWN_NETWORK: "1" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const output = outputOf(child);
      const exitCode = await new Promise((resolve) => child.once("close", resolve));
      rmSync(folder, { recursive: true, force: true });
      if (exitCode !== 0) throw new Error(output());
    },
    TIMEOUT_MS,
  );

/** The reason why a network namespace cannot be created here, such as missing permissions or tools; undefined when it can. */
function noNetworkOfOurOwn(): string | undefined {
  const args = ["--user", "--map-root-user", "--net", "--mount", "ip", "link", "set", "lo", "up"];
  const { status, stderr, error } = spawnSync("unshare", args, { encoding: "utf8" });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

function insideTests(): void {
  test(
    "opens a tunnel, registers through it, serves with signatures checked, comes back, and ends with the relay's word",
    async () => {
      const { trusted } = await makeCertificates();
      const home = mkdtempSync(join(tmpdir(), "perdure-official-"));
      const file = (name: string, text: string): string => {
        writeFileSync(join(home, name), text);
        return join(home, name);
      };
      const certificate = { certificate: trusted.certificate, privateKey: trusted.privateKey };
      await using world = await aWorld();
      const { tenant, tenancy } = world;
      const secure = await world.relay.listenTunnels({
        host: "127.0.0.1",
        port: 0,
        certificates: { current: certificate, onChange() {} },
      });
      await using wire = await aWire(secure.port);
      await using _names = await serveNames({
        srv: { [SRV_NAME]: { port: wire.port, target: "localhost" } },
        a: { localhost: "127.0.0.1" },
      });
      await using server = await Server.start({
        settings: {
          "cluster-name": tenant.facts.id,
          "request-identity-private-key-pem-file": file("identity.pem", tenant.pem),
          "tunnels.proxy-url": world.proxyUrl,
          "tunnels.public-url": PUBLIC_PROXY,
          "tunnels.token-file": file("token", tenant.token),
        },
      });
      const greeter = service({ name: "Greeter", handlers: { greet: async (_ctx, name: string) => `Hello ${name}` } });
      await using endpoint = await SdkEndpoint.start({ services: [greeter], identityKeys: [tenant.identity.publicKey] });
      await using cloud = await aCloudApi({
        environmentId: tenant.facts.id,
        name: "dev",
        ingressBaseUrl: server.ingressUrl,
        adminBaseUrl: server.adminUrl,
        proxyBaseUrl: PUBLIC_PROXY,
        tunnelSrv: SRV_NAME,
        signingPublicKey: tenant.identity.publicKey,
      });
      writeConfig(home, { api: cloud.url, ingress: server.ingressUrl, admin: server.adminUrl }, tenant.facts);
      const authority = file("ca.pem", trusted.authority);
      const run = (args: readonly string[], key: string): ChildProcess => runOfficial(args, { home, key, authority });

      const tunnel = run(["cloud", "env", "tunnel", "--tunnel-name", "t", "--no-remote-ports"], tenant.key);
      const tunnelSaid = outputOf(tunnel);
      const tunnelEnded = new Promise<number | null>((resolve) => tunnel.once("close", resolve));
      try {
        await orFail(
          until(() => world.relay.stats.connections === 1),
          tunnelEnded,
          tunnelSaid,
        );

        const url = `http://localhost:${endpoint.port}`;
        const register = run(["-y", "deployments", "register", "--tunnel-name", "t", url], tenant.key);
        const registerSaid = outputOf(register);
        const exitCode = await new Promise((resolve) => register.once("close", resolve));
        expect([exitCode, registerSaid()]).toEqual([0, expect.stringContaining("Greeter")]);
        using admin = new TestAdminClient(server.adminUrl);
        expect(JSON.stringify((await admin.get("/deployments")).json)).toContain(
          `${PUBLIC_PROXY}/${bareOf(tenant.facts.id)}/t/http/localhost/${endpoint.port}/`,
        );
        using ingress = new TestIngressClient(server.ingressUrl);
        expect(await ingress.result(["Greeter", "greet"], "Ada")).toBe("Hello Ada");

        // It reconnects after its connection was cut.
        const idOfTunnel = async (): Promise<string | undefined> => {
          await world.relay.report();
          return tenancy.tunnels.get("r1")?.connections[0]?.id;
        };
        const first = await idOfTunnel();
        wire.cut();
        await orFail(
          eventually("another connection", async () => ![first, undefined].includes(await idOfTunnel()), RECONNECT_MS),
          tunnelEnded,
          tunnelSaid,
        );
        expect(await ingress.result(["Greeter", "greet"], "Grace")).toBe("Hello Grace");

        tenancy.revoke(tenant.key);
        expect(await tunnelEnded).not.toBe(0);
        expect(tunnelSaid()).toMatch(/unauthorized/i);
      } finally {
        tunnel.kill("SIGKILL");
        await tunnelEnded;
        rmSync(home, { recursive: true, force: true });
      }
    },
    INSIDE_TIMEOUT_MS,
  );
}

interface ServerUrls {
  readonly api: string;
  readonly ingress: string;
  readonly admin: string;
}

/** Makes the command line log in to the environment: a token that has not expired, and the addresses of the environment. */
function writeConfig(home: string, urls: ServerUrls, environment: { readonly accountId: string; readonly id: string }): void {
  const config = join(home, "config");
  mkdirSync(config);
  const claims = Buffer.from(JSON.stringify({ exp: Math.floor(Date.now() / 1000) + 3600 })).toString("base64url");
  writeFileSync(
    join(config, "config.toml"),
    [
      `[global.cloud]\napi_base_url = "${urls.api}"\naccess_token = "x.${claims}.x"`,
      `[dev]\nenvironment_type = "cloud"\ningress_base_url = "${urls.ingress}"\nadmin_base_url = "${urls.admin}"`,
      `[dev.cloud]\naccount_id = "${environment.accountId}"\nenvironment_id = "${environment.id}"\n`,
    ].join("\n\n"),
  );
  writeFileSync(join(config, "environment"), "dev");
}

interface OfficialRun {
  readonly home: string;
  /** An API key of the environment. */
  readonly key: string;
  /** Path of the certificate of the authority to trust. */
  readonly authority: string;
}

function runOfficial(args: readonly string[], { home, key, authority }: OfficialRun): ChildProcess {
  return spawn(binary(), args, {
    cwd: home,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      RESTATE_CLI_CONFIG_HOME: join(home, "config"),
      RESTATE_AUTH_TOKEN: key,
      SSL_CERT_FILE: authority,
      NO_COLOR: "1",
      DO_NOT_TRACK: "1",
    },
  });
}

/** The part of the Cloud API that this command calls. */
async function aCloudApi(environment: Readonly<Record<string, string>>): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    const isDescribed = request.url?.endsWith("/DescribeEnvironment") === true;
    response.writeHead(isDescribed ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(isDescribed ? environment : { message: "not here" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Waits, and fails when the process ends first. */
async function orFail(wait: Promise<unknown>, ended: Promise<unknown>, output: () => string): Promise<void> {
  const outcome = await Promise.race([wait.then(() => "there"), ended.then(() => "ended")]);
  if (outcome === "ended") throw new Error(`it ended:\n${output()}`);
}

function outputOf(child: ChildProcess): () => string {
  let text = "";
  for (const output of [child.stdout, child.stderr]) {
    output?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  return () => text;
}

/** The binary is an optional package per platform, in addition to the main package. */
function binary(): string {
  const cli = createRequire(createRequire(import.meta.url).resolve("@restatedev/restate/package.json"));
  return cli.resolve(`@restatedev/restate-${process.platform}-${process.arch}/bin/restate`);
}
