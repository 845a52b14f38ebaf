/** `perdure dev` in an empty folder, in a project, beside a service that runs; with crashes, reloads and Ctrl-C. */

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { eventually, HttpClient, SdkEndpoint, TestListener } from "@perdure/conformance";
import { ROOT } from "@perdure/dev-cluster";
import type { RunningCommand } from "@perdure/processes";
import { freePorts } from "@perdure/servers";
import { service } from "@restatedev/restate-sdk";
import { templateOf } from "../src/commands/dev/template.js";
import { event, eventsOf } from "./dev-events.js";
import { Home } from "./home.js";

const TEST_MS = 120_000;
/** From an empty folder to the answer of a durable call (issue 5, item 7). */
const FIRST_CALL_MS_MAX = 60_000;

let home: Home;
let running: RunningCommand | undefined;

beforeEach(async () => {
  home = await Home.make({ ...npmEnvironment() });
}, TEST_MS);
afterEach(async () => {
  running?.signal("SIGTERM");
  await running?.ended;
  running = undefined;
  home?.[Symbol.dispose]();
}, TEST_MS);

/** npm as configured on this machine, with its cache; the home folder is another one. */
function npmEnvironment(): Record<string, string> {
  const own = Object.entries(process.env).filter(
    (entry): entry is [string, string] => /^npm_config_/i.test(entry[0]) && entry[1] !== undefined,
  );
  return {
    NPM_CONFIG_USERCONFIG: join(homedir(), ".npmrc"),
    NPM_CONFIG_CACHE: join(homedir(), ".npm"),
    ...Object.fromEntries(own),
  };
}

async function freePort(): Promise<number> {
  return (await freePorts(1))[0] as number;
}

function dev(folder: string, ...args: readonly string[]): RunningCommand {
  running = home.start(["dev", "--json", "--ingress-port", "0", "--admin-port", "0", ...args], { folder });
  return running;
}

async function call(ingressUrl: unknown, path: string, json: unknown): Promise<string> {
  using http = new HttpClient(String(ingressUrl).replace("localhost", "127.0.0.1"));
  const answer = await http.request("POST", path, { json });
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.text;
}

/** A project with a service that greets with a word; its handler `crash` ends the process once, between two steps. */
function writeProject(folder: string, script: string, greeting: string, handler = "greet"): void {
  home.write(`${folder}/package.json`, JSON.stringify({ type: "module", scripts: { dev: script } }));
  home.write(
    `${folder}/main.mjs`,
    `import { existsSync, writeFileSync } from "node:fs";
import * as restate from "@restatedev/restate-sdk";

const greeter = restate.service({
  name: "Greeter",
  handlers: {
    ${handler}: async (ctx, name) => await ctx.run("greet", () => "${greeting} " + name),
    crash: async (ctx) => {
      await ctx.run("first", () => 1);
      if (existsSync("crashed")) return "survived";
      writeFileSync("crashed", "");
      process.exit(3);
    },
  },
});
await restate.serve({ services: [greeter], port: Number(process.env.PORT) });
`,
  );
  if (!home.has(`${folder}/node_modules`))
    symlinkSync(join(ROOT, "libs/testing/conformance/node_modules"), join(home.path, folder, "node_modules"));
}

async function expectSilence(...ports: readonly unknown[]): Promise<void> {
  for (const port of ports) {
    const listener = await TestListener.open(createServer(), Number(port));
    await listener.close();
  }
}

describe("in an empty folder", () => {
  beforeAll(async () => {
    // Packages of the template are in npm's cache afterwards, as on a development machine.
    using warm = await Home.make({});
    const manifest = templateOf(warm.path, 0).get("package.json") ?? "";
    warm.write("package.json", manifest);
    const env = { ...process.env, ...npmEnvironment() };
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"], {
      cwd: warm.path,
      env,
      stdio: "pipe",
    });
  }, TEST_MS);

  test(
    "it begins a service and serves a durable call within a minute",
    async () => {
      mkdirSync(join(home.path, "hello"));
      const startedMs = performance.now();
      const perdure = dev("hello", "--yes", "--port", String(await freePort()));
      const { ingressUrl, services } = await event(perdure, "registered");
      const answer = await call(ingressUrl, "/Greeter/greet", "Ann");
      const tookMs = performance.now() - startedMs;
      console.info(`from an empty folder to a durable call: ${(tookMs / 1000).toFixed(1)} s`);
      expect(answer).toMatch(/^"Hello Ann, your number is \d+\."$/);
      expect(services).toEqual(["Greeter"]);
      expect(tookMs).toBeLessThan(FIRST_CALL_MS_MAX);
      expect(home.read("hello/.perdure/.gitignore")).toBe("*\n");
      expect(home.read("hello/src/service.ts")).toContain("It needs Node 22.18 or later");
    },
    TEST_MS,
  );

  test(
    "nothing is written without confirmation",
    async () => {
      mkdirSync(join(home.path, "hello"));
      const perdure = dev("hello", "--port", String(await freePort()));
      await event(perdure, "empty");
      await event(perdure, "waiting");
      expect(home.has("hello/package.json")).toBe(false);
    },
    TEST_MS,
  );
});

describe("in a project", () => {
  test(
    "its own script is started, reloads are registered, and Ctrl-C ends everything in order",
    async () => {
      const port = await freePort();
      writeProject("app", "node --watch main.mjs", "Hello");
      const perdure = dev("app", "--port", String(port));
      const { ingressUrl, adminUrl } = await event(perdure, "registered");
      expect(await call(ingressUrl, "/Greeter/greet", "Ann")).toBe('"Hello Ann"');

      writeProject("app", "node --watch main.mjs", "Servus", "salute");
      const changed = await event(perdure, "changed");
      expect(changed["services"]).toEqual(["Greeter"]);
      expect(await call(ingressUrl, "/Greeter/salute", "Ann")).toBe('"Servus Ann"');

      perdure.signal("SIGINT");
      const { exitCode } = await perdure.ended;
      expect(exitCode).toBe(130);
      // The script may print lines until it has ended.
      const ownEvents = eventsOf(perdure).filter((one) => one.event !== "output");
      expect(ownEvents.slice(-2).map((one) => one.event)).toEqual(["stopping", "stopped"]);
      await expectSilence(port, ...[ingressUrl, adminUrl].map((url) => new URL(String(url)).port));

      // The data and the registrations are still there.
      const again = dev("app", "--port", String(port));
      const back = await event(again, "registered");
      expect(await call(back["ingressUrl"], "/Greeter/salute", "Bob")).toBe('"Servus Bob"');
    },
    TEST_MS,
  );

  test(
    "a crash is reported, nothing is lost, and the service is started again",
    async () => {
      writeProject("app", "node main.mjs", "Hello");
      const perdure = dev("app", "--port", String(await freePort()));
      const { ingressUrl } = await event(perdure, "registered");
      const answer = call(ingressUrl, "/Greeter/crash", null);
      const crashed = await event(perdure, "crashed");
      expect(crashed).toMatchObject({
        message: expect.stringContaining("exit code 3"),
        advice: expect.stringContaining("Nothing is lost"),
      });
      expect(await answer).toBe('"survived"');
    },
    TEST_MS,
  );

  test(
    "a command behind -- is started; a missing program is reported",
    async () => {
      writeProject("app", "false", "Moin");
      const perdure = dev("app", "--port", String(await freePort()), "--", "node", "main.mjs");
      const { ingressUrl } = await event(perdure, "registered");
      expect(await call(ingressUrl, "/Greeter/greet", "Ann")).toBe('"Moin Ann"');
      perdure.signal("SIGTERM");
      expect((await perdure.ended).exitCode).toBe(143);

      const missing = await home.run(["dev", "--ingress-port", "0", "--admin-port", "0", "--", "no-such-program"], {
        folder: "app",
      });
      expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining("There is no program 'no-such-program'")]);
    },
    TEST_MS,
  );
});

describe("a service that", () => {
  test(
    "ignores PORT is found at a usual port, which is named",
    async () => {
      writeProject("app", "PORT=8787 node main.mjs", "Hello");
      const port = await freePort();
      const perdure = dev("app", "--port", String(port));
      expect(await event(perdure, "elsewhere")).toMatchObject({
        url: "http://localhost:8787",
        message: `Your service listens at http://localhost:8787, not at port ${port} (--port)`,
        advice: expect.stringContaining("perdure dev --port 8787"),
      });
    },
    TEST_MS,
  );

  test(
    "has no reload of its own is restarted when a source file changes, also after it crashed",
    async () => {
      home.write("app/pyproject.toml", "");
      home.write("app/main.py", "import time\nprint('first', flush=True)\ntime.sleep(600)\n");
      // 'uv run main.py' without uv.
      home.write("bin/uv", '#!/bin/sh\nshift\nexec python3 "$@"\n');
      chmodSync(join(home.path, "bin/uv"), 0o755);
      const perdure = home.start(
        ["dev", "--json", "--ingress-port", "0", "--admin-port", "0", "--port", String(await freePort())],
        {
          folder: "app",
          env: { PATH: `${join(home.path, "bin")}:${process.env["PATH"]}` },
        },
      );
      running = perdure;
      await perdure.until(/"line":"first"/);
      home.write("app/main.py", "print('second', flush=True)\nraise SystemExit('broken')\n");
      await perdure.until(/"line":"second"/);
      await event(perdure, "crashed");
      home.write("app/main.py", "import time\nprint('third', flush=True)\ntime.sleep(600)\n");
      await perdure.until(/"line":"third"/);
      expect(await event(perdure, "restarting", 2)).toMatchObject({ path: "main.py" });
    },
    TEST_MS,
  );

  test(
    "does not come back after a change is reported as gone, and as back once it is fixed",
    async () => {
      writeProject("app", "node --watch main.mjs", "Hello");
      const perdure = dev("app", "--port", String(await freePort()));
      await event(perdure, "registered");
      const source = home.read("app/main.mjs");
      home.write("app/main.mjs", `${source}(`);
      expect(await event(perdure, "gone")).toMatchObject({ advice: expect.stringContaining("Nothing is lost") });
      home.write("app/main.mjs", source);
      await event(perdure, "reloaded");
    },
    TEST_MS,
  );
});

test(
  "a second one on the same data is refused with the process and the addresses of the first",
  async () => {
    writeProject("app", "node main.mjs", "Hello");
    const perdure = dev("app", "--port", String(await freePort()));
    const { ingressUrl } = await event(perdure, "server");
    const second = await home.run(["dev", "--no-start", "--ingress-port", "0", "--admin-port", "0"], { folder: "app" });
    expect([second.exitCode, second.stderr]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `Another perdure dev uses the data in .*/app/\\.perdure: process \\d+, calls at ${ingressUrl}, management at http`,
        ),
      ),
    ]);
    expect(second.stderr).toContain("perdure dev --data <folder>");
    expect(second.stdout + second.stderr).not.toContain("--base-dir");
    perdure.signal("SIGINT");
    await perdure.ended;
    expect(home.has("app/.perdure/dev.json")).toBe(false);
  },
  TEST_MS,
);

describe("in a folder that is not ready", () => {
  test(
    "an unknown file keeps --yes from writing, and is named",
    async () => {
      home.write("notes/out.txt", "");
      const perdure = dev("notes", "--yes", "--port", String(await freePort()));
      expect(await event(perdure, "not-written")).toMatchObject({ content: "out.txt" });
      expect(home.has("notes/package.json")).toBe(false);
    },
    TEST_MS,
  );

  test(
    "missing packages end it with advice, where no prompt is possible",
    async () => {
      home.write("app/package.json", JSON.stringify({ scripts: { dev: "node main.mjs" }, dependencies: { a: "1" } }));
      const perdure = dev("app", "--port", String(await freePort()));
      const { exitCode, stderr } = await perdure.ended;
      expect([exitCode, JSON.parse(stderr)]).toEqual([
        1,
        {
          error: expect.objectContaining({
            message: "The packages of this project are not installed",
            advice: expect.stringMatching(/^Run 'npm install.*', then perdure dev\. Or: perdure dev --yes$/),
          }),
        },
      ]);
    },
    TEST_MS,
  );
});

describe("beside a service that runs", () => {
  test(
    "it is found, over HTTP/1.1 too, and reported when it is gone and back",
    async () => {
      const greeter = service({ name: "Greeter", handlers: { greet: async (_ctx, name: string) => `Hi ${name}` } });
      mkdirSync(join(home.path, "empty"));
      let endpoint = await SdkEndpoint.start({ services: [greeter], kind: "h1-request-response" });
      const { port } = endpoint;
      try {
        const perdure = dev("empty", "--port", String(port));
        const { ingressUrl } = await event(perdure, "registered");
        expect(await call(ingressUrl, "/Greeter/greet", "Ann")).toBe('"Hi Ann"');
        await endpoint[Symbol.asyncDispose]();
        expect(await event(perdure, "gone")).toMatchObject({ advice: expect.stringContaining("Nothing is lost") });
        endpoint = await SdkEndpoint.start({ services: [greeter], kind: "h1-request-response", port });
        await event(perdure, "reloaded");
        expect(await call(ingressUrl, "/Greeter/greet", "Bob")).toBe('"Hi Bob"');
        expect(home.has("empty/package.json")).toBe(false);
      } finally {
        await endpoint[Symbol.asyncDispose]();
      }
    },
    TEST_MS,
  );
});

test(
  "a service of another folder at a usual port is not used, and the new service gets another port",
  async () => {
    const greeter = service({ name: "Stranger", handlers: { greet: async () => "from elsewhere" } });
    mkdirSync(join(home.path, "empty"));
    await using foreignEndpoint = await SdkEndpoint.start({ services: [greeter], port: 9080 });
    const perdure = dev("empty", "--yes");
    expect(await event(perdure, "foreign")).toMatchObject({ url: "http://localhost:9080", pid: process.pid });
    await event(perdure, "written");
    const { services, url, ingressUrl } = await event(perdure, "registered");
    expect(services).toEqual(["Greeter"]);
    expect(url).not.toBe(`http://localhost:${foreignEndpoint.port}`);
    expect(await call(ingressUrl, "/Greeter/greet", "Ann")).toMatch(/^"Hello Ann/);
  },
  TEST_MS,
);

test(
  "a port in use is reported with its program and what to do",
  async () => {
    mkdirSync(join(home.path, "empty"));
    const listener = await TestListener.open(createServer(), 0);
    try {
      const refused = await home.run(["dev", "--ingress-port", String(listener.port), "--admin-port", "0"], { folder: "empty" });
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toContain(`Port ${listener.port} for the ingress is taken by process ${process.pid}`);
      expect(refused.stderr).toContain(`perdure dev --ingress-port ${listener.port + 1}`);
      await eventually("nothing was begun", () => !home.has("empty/.perdure"));
    } finally {
      await listener.close();
    }
  },
  TEST_MS,
);
