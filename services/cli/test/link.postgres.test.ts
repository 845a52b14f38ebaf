/**
 * A durable call in the cloud with one command, without any previous setup, and tunnels, on the platform's real programs (cloud.md §2.9,
 * §8: 57, 60).
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { SdkEndpoint } from "@perdure/conformance";
import { DevCloud } from "@perdure/dev-cluster";
import type { RunningCommand } from "@perdure/processes";
import { freePorts } from "@perdure/servers";
import { BrowserClient } from "@perdure/tenancy/testing";
import { type Context, handlers, serde, service } from "@restatedev/restate-sdk";
import { Home } from "./home.js";
import { approve, PASSWORD } from "./small-cloud.js";

const TEST_MS = 180_000;
const run = promisify(execFile);

interface LinkEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

let cloud: DevCloud;
let endpoint: SdkEndpoint;
let home: Home;
let calls = 0;
const greeter = service({
  name: "Greeter",
  handlers: {
    // With a schema, so that the printed command has a body that the handler accepts.
    greet: handlers.handler(
      { input: Object.assign(new serde.JsonSerde<string>(), { jsonSchema: { type: "string", examples: ["Ann"] } }) },
      async (ctx: Context, name: string) => {
        calls += await ctx.run(() => 1);
        return `Hello ${name}`;
      },
    ),
  },
});

beforeAll(async () => {
  cloud = await DevCloud.start();
  endpoint = await SdkEndpoint.start({ services: [greeter] });
  home = await Home.make({ PERDURE_API_URL: cloud.apiUrl });
}, TEST_MS);
afterAll(async () => {
  home?.[Symbol.dispose]();
  await endpoint?.[Symbol.asyncDispose]();
  await cloud?.[Symbol.asyncDispose]();
}, TEST_MS);

const events = (running: RunningCommand): LinkEvent[] =>
  running.stdout
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as LinkEvent);

describe("perdure link", () => {
  test(
    "logs in, makes an environment, opens a tunnel, registers, and prints a call that works",
    async () => {
      const browser = new BrowserClient(cloud.apiUrl);
      expect((await browser.submit("/sign-up", "/sign-up", { email: "a@perdure.test", password: PASSWORD })).status).toBe(303);
      const startedMs = performance.now();
      const linked = home.start([
        "link",
        "--no-browser",
        "--json",
        "--local-port",
        `${endpoint.port}`,
        "--tunnel-name",
        "laptop",
      ]);
      await approve(browser, linked);
      await linked.until(/"event":"ready"/);
      expect(performance.now() - startedMs).toBeLessThan(120_000);
      const reported = events(linked);
      expect(reported.map(({ event }) => event).filter((event) => !event.startsWith("tunnel-"))).toEqual([
        "device",
        "logged-in",
        "environment",
        "ready",
      ]);
      const ready = reported.find(({ event }) => event === "ready");
      const uri = `tunnel://laptop:${endpoint.port}`;
      expect(ready).toMatchObject({ uri, services: ["Greeter"] });
      const environment = reported.find(({ event }) => event === "environment");
      expect(environment).toMatchObject({ name: "dev", profile: "dev", status: "ACTIVE" });

      const listed = await home.restate(["-e", "dev", "deployments", "list"]);
      expect([listed.exitCode, listed.stdout]).toEqual([0, expect.stringContaining(uri)]);
      expect(await pasted(home, String(ready?.["call"]))).toMatch(/^"Hello /);
      expect(calls).toBeGreaterThan(0);

      const { tunnels } = await home.json<{ tunnels: { name: string; connections: { ports?: number[] }[] }[] }>([
        "tunnels",
        "list",
        "dev",
      ]);
      expect(tunnels).toMatchObject([{ name: "laptop", connections: [{ ports: [endpoint.port] }] }]);
      expect(tunnels[0]?.connections).toHaveLength(1);
      linked.signal("SIGINT");
      expect((await linked.ended).exitCode).toBe(0);
      expect(linked.output).not.toMatch(/eyJ[\w-]+\.[\w-]+\.[\w-]+/);
    },
    TEST_MS,
  );

  test(
    "prints advice when no service listens, or the environment does not exist",
    async () => {
      const [free] = (await freePorts(1)) as [number];
      const quiet = home.start(["link", "dev", "--local-port", `${free}`]);
      await quiet.until(/Waiting for a service at/);
      quiet.signal("SIGINT");
      expect((await quiet.ended).exitCode).toBe(130);
      const nowhere = await home.run(["link", "nowhere"]);
      expect(nowhere).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("perdure env") });
    },
    TEST_MS,
  );
});

describe("perdure tunnel", () => {
  test(
    "exposes a port, and brings the ingress here without a key",
    async () => {
      const args = ["tunnel", "-e", "dev", "--name", "t2", "--local-port", `7000:127.0.0.1:${endpoint.port}`];
      const [local] = (await freePorts(1)) as [number];
      const open = home.start([...args, "--remote-port", `8080:${local}`, "--json"]);
      await open.until(/"event":"ready"/);
      const registered = await home.run([
        "deployments",
        "register",
        "tunnel://t2:7000",
        "-e",
        "dev",
        "--yes",
        "--force",
        "--breaking",
      ]);
      expect([registered.exitCode, registered.exitCode === 0 ? "" : registered.stderr]).toEqual([0, ""]);
      const before = calls;
      const answer = await fetch(`http://127.0.0.1:${local}/Greeter/greet`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '"Bo"',
      });
      expect([answer.status, await answer.json()]).toEqual([200, "Hello Bo"]);
      expect(calls).toBe(before + 1);
      open.signal("SIGTERM");
      expect((await open.ended).exitCode).toBe(0);
    },
    TEST_MS,
  );

  test(
    "ends with a reason when the relay refuses it",
    async () => {
      const { adminUrl, environmentId, signingPublicKey } = await home.json(["env", "describe", "dev"]);
      const { apiKey } = await home.json(["keys", "create", "dev", "--role", "ingress"]);
      using machine = await Home.make({
        PERDURE_API_KEY: String(apiKey),
        PERDURE_ADMIN_URL: String(adminUrl),
        PERDURE_ENVIRONMENT_ID: String(environmentId),
        PERDURE_SIGNING_PUBLIC_KEY: String(signingPublicKey),
      });
      const facts = await home.json<{ tunnelServers: string[] }>(["env", "describe", "dev"]);
      const refused = await machine.run(["tunnel", "--server", facts.tunnelServers[0] ?? ""]);
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("unauthorized") });
      const none = await machine.run(["tunnel", "--no-local"]);
      expect(none).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("--remote-port") });
    },
    TEST_MS,
  );
});

/** Output for a user who pastes the command into a shell. */
async function pasted(at: Home, call: string): Promise<string> {
  const folder = at.bin();
  const env = { ...at.env, PATH: `${folder}:${process.env["PATH"]}` };
  const { stdout } = await run("sh", ["-c", call], { env, cwd: at.path, timeout: 60_000 });
  return stdout;
}
