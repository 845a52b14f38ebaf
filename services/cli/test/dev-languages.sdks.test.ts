/**
 * `perdure dev` in a project of each language that exists already, with the published SDK: without a flag that says where the service is or
 * how it starts, it is found, started and registered, and a change of its source is served.
 */

import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { eventually, HttpClient, TestAdminClient } from "@perdure/conformance";
import type { RunningCommand } from "@perdure/processes";
import { event } from "./dev-events.js";
import { DEV_PROJECTS } from "./dev-projects.js";
import { Home } from "./home.js";

/** With an empty cache, Rust compiles the SDK and what it depends on for minutes. */
const TEST_MS = 1_200_000;
/** Compilers share the processors with other suites. */
const DEV_MS_MAX = 300_000;
const RELOAD_MS_MAX = 120_000;

let home: Home;
let running: RunningCommand | undefined;

beforeEach(async () => {
  home = await Home.make({});
}, TEST_MS);
afterEach(async () => {
  running?.signal("SIGTERM");
  await running?.ended;
  running = undefined;
  home?.[Symbol.dispose]();
}, TEST_MS);

test.each(DEV_PROJECTS)(
  "a project in $language is found, registered and reloaded without a flag: $command",
  async (project) => {
    const { command, files, source, env = {}, reloads = false } = project;
    for (const [path, text] of Object.entries(files)) home.write(`app/${path}`, text);
    await project.prepare(join(home.path, "app"));

    const path = [env["PATH"], process.env["PATH"]].filter((part) => part !== undefined).join(":");
    const perdure = home.start(["dev", "--json", "--ingress-port", "0", "--admin-port", "0"], {
      folder: "app",
      env: { ...env, PATH: path },
      timeoutMs: DEV_MS_MAX,
    });
    running = perdure;
    expect(await event(perdure, "starting")).toMatchObject({ command });
    const { ingressUrl, adminUrl, services } = await event(perdure, "registered");
    expect(services).toEqual(["Greeter"]);

    using ingress = new HttpClient(String(ingressUrl).replace("localhost", "127.0.0.1"));
    const greet = async (name: string): Promise<string> => (await ingress.request("POST", "/Greeter/greet", { json: name })).text;
    expect(await greet("Ann")).toBe('"Hello Ann"');
    using admin = new TestAdminClient(String(adminUrl).replace("localhost", "127.0.0.1"));
    const steps = await admin.query("SELECT name FROM sys_journal WHERE entry_type = 'Command: Run'");
    expect(steps).toEqual([{ name: "greet" }]);

    home.write(`app/${source}`, home.read(`app/${source}`).replace("Hello", "Servus"));
    if (!reloads) expect(await event(perdure, "restarting")).toMatchObject({ path: source });
    await event(perdure, "reloaded");
    await eventually("the new source is served", async () => (await greet("Bob")) === '"Servus Bob"', RELOAD_MS_MAX);
  },
  TEST_MS,
);
