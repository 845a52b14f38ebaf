/** The real completion script in a real bash, with the real program and server: candidates after Tab. */

import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { eventually, TestWorld } from "@perdure/conformance";
import { programBundle } from "@perdure/dev-cluster";
import * as restate from "@restatedev/restate-sdk";
import { Home } from "./home.js";

const TEST_MS = 120_000;
const run = promisify(execFile);

const testService = restate.service({
  name: "Greeter",
  handlers: {
    echo: async (_ctx: restate.Context, value: unknown) => value,
    nap: async (ctx: restate.Context) => await ctx.sleep(600_000),
  },
});
const cart = restate.object({
  name: "Cart",
  handlers: { add: async (ctx: restate.ObjectContext, amount: number) => ctx.set("sum", amount) },
});
const signup = restate.workflow({ name: "Signup", handlers: { run: async () => "done", approve: async () => "yes" } });

let world: TestWorld;
let home: Home;
let script: string;
let silent: Server;
let deployment: string;

beforeAll(async () => {
  world = await TestWorld.start();
  home = await Home.make({ PERDURE_ADMIN_URL: world.server.adminUrl, PERDURE_INGRESS_URL: world.server.ingressUrl });
  deployment = (await world.deploy({ services: [testService, cart, signup] })).id;
  script = (await home.run(["completion", "bash"])).stdout;
  silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
}, TEST_MS);
afterAll(async () => {
  silent?.closeAllConnections();
  silent?.close();
  home?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

/** Candidates of bash for the last of these words, and its other output. */
async function tab(tokens: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const program = 'perdure() { "$NODE" "$BUNDLE" "$@"; }; compopt() { :; }';
  const press = 'COMP_WORDS=(perdure "$@"); COMP_CWORD=$#; _perdure; declare -p COMPREPLY';
  const { stdout, stderr } = await run("bash", ["-c", `${program}\n${script}\n${press}`, "bash", ...tokens], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home.path,
      NODE: process.execPath,
      BUNDLE: await programBundle("services/cli"),
      PERDURE_ADMIN_URL: world.server.adminUrl,
      ...env,
    },
  });
  expect(stderr).toBe("");
  return [...stdout.matchAll(/\[\d+\]="([^"]*)"/g)].map(([, value]) => value ?? "");
}

/** Candidates after as many Tabs as it takes: one gives up after a second, e.g. while the server starts the process of its first statement. */
const candidatesOf = (tokens: readonly string[], least = 1) =>
  eventually(`what follows ${tokens.join(" ")}`, async () => {
    const candidates = await tab(tokens);
    return candidates.length >= least && candidates;
  });

test(
  "services, handlers, keys and deployments of the environment are offered",
  async () => {
    await home.json(["call", "Cart/tom/add", "1"]);
    await home.json(["call", "Cart/$(touch x)/add", "1"]);
    expect(await candidatesOf(["services", "describe", ""])).toEqual(expect.arrayContaining(["Cart", "Greeter", "Signup"]));
    expect(await candidatesOf(["services", "describe", "Gr"])).toEqual(["Greeter"]);
    expect(await candidatesOf(["call", "Greeter/"])).toEqual(["Greeter/echo", "Greeter/nap"]);
    expect(await candidatesOf(["call", "Ca"])).toEqual(["Cart/"]);
    // No characters that a shell interprets.
    expect(await candidatesOf(["call", "Cart/"])).toEqual(["Cart/tom/"]);
    expect(await candidatesOf(["call", "Cart/tom/"])).toEqual(["Cart/tom/add"]);
    expect(await candidatesOf(["state", "get", "Cart", ""])).toEqual(["tom"]);
    expect(await candidatesOf(["promises", "list", ""])).toEqual(["Signup"]);
    expect(await candidatesOf(["deployments", "describe", "dp"])).toEqual([deployment]);
    expect(await candidatesOf(["invocations", "resume", "--deployment", ""], 3)).toEqual(["keep", "latest", deployment]);
  },
  TEST_MS,
);

test(
  "ids of invocations are offered where their status fits",
  async () => {
    const { invocation_id: id } = await home.json<{ invocation_id: string }>(["send", "Greeter/nap"]);
    await eventually("it is there", async () => (await world.admin.row(id)) !== undefined || undefined);
    expect(await candidatesOf(["invocations", "cancel", ""])).toEqual([id]);
    expect(await candidatesOf(["invocations", "describe", id.slice(0, 30)])).toEqual([id]);
    expect(await tab(["invocations", "resume", ""])).toEqual([]);
    expect(await tab(["invocations", "purge", id.slice(0, 20)])).toEqual([]);
    expect(await candidatesOf(["invocations", "list", "--status", "running,sus"])).toEqual(["running,suspended"]);
    expect(await candidatesOf(["errors", "META000"])).toEqual(expect.arrayContaining(["META0003", "META0004"]));
  },
  TEST_MS,
);

test(
  "a server that is away, silent or unknown offers nothing, soon and without a message",
  async () => {
    expect(await tab(["call", ""], { PERDURE_ADMIN_URL: "http://127.0.0.1:1" })).toEqual([]);
    expect(await tab(["call", ""], { PERDURE_ADMIN_URL: "not a URL" })).toEqual([]);
    expect(await tab(["-e", "nobody", "call", ""])).toEqual([]);
    const { port } = silent.address() as AddressInfo;
    expect(await tab(["call", ""], { PERDURE_ADMIN_URL: `http://127.0.0.1:${port}` })).toEqual([]);
  },
  TEST_MS,
);
