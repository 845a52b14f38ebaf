/**
 * Runs `make cloud` as a user would: the demo succeeds with both command-line tools, the tutorial comes true, data is found again, nothing is
 * left running.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { programBundle } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import { freePortRange, freePorts } from "@perdure/servers";
import { playCloudTutorial } from "./tutorial.js";

const WHOLE_TEST_MS = 600_000;
/** The machine may be busy with other suites. */
const STAYS_UP_MS = 300_000;
/** From the first port on all are ours: some of the platform, two for each environment and two for its runtime. */
const ROW = 220;

const CONSOLE = fileURLToPath(new URL("../../../services/console/dist/index.html", import.meta.url));

const data = mkdtempSync(join(tmpdir(), "perdure-cloud-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

async function start(ports: CloudPorts, ...args: string[]): Promise<ChildProgram> {
  const env = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    XDG_CACHE_HOME: process.env["XDG_CACHE_HOME"],
    PERDURE_CLOUD_DIR: data,
    PERDURE_CLOUD_PORTS: String(ports.row),
    PERDURE_API__BIND_PORT: String(ports.api),
    GREETER_PORT: String(ports.greeter),
    PERDURE_CLOUD_INGRESS_PORT: String(ports.ingressHere),
  };
  return ChildProgram.start({ command: process.execPath, args: [await programBundle("deploy/cloud"), ...args], env });
}

interface CloudPorts {
  readonly row: number;
  readonly api: number;
  readonly greeter: number;
  /** Where the tunnel brings the environment's ingress. */
  readonly ingressHere: number;
  /** Of the service of the tutorial. */
  readonly service: number;
}

async function choosePorts(): Promise<CloudPorts> {
  const [api, greeter, ingressHere, service] = (await freePorts(4)) as [number, number, number, number];
  return { row: (await freePortRange(ROW)).first, api, greeter, ingressHere, service };
}

const outputOf = ({ lines }: ChildProgram): string => lines.join("\n");

/** Processes that have our directory among their arguments or variables. */
function ours(): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .filter((pid) => {
      try {
        return ["cmdline", "environ"].some((file) => readFileSync(`/proc/${pid}/${file}`, "utf8").includes(data));
      } catch (cause) {
        if (["ENOENT", "ESRCH", "EACCES"].includes((cause as NodeJS.ErrnoException).code ?? "")) return false;
        throw cause;
      }
    })
    .map(Number);
}

function expectDemo(output: string, { ingressHere }: CloudPorts, count: number): void {
  expect(output).toContain("approved with a click in the browser");
  expect(output).toMatch(/Logged in\? +true/); // The official command line.
  expect(output).toContain("tunnel://laptop:");
  expect(output).toMatch(/"(?:Good morning|Hello), Ada!"/); // The greeting depends on the time of day.
  expect(output).toMatch(new RegExp(`Counter/demo/add.*\\n +${count}\\n`));
  expect(output).toContain(`http://127.0.0.1:${ingressHere} is the ingress of 'dev', with your credential`);
  // Without a key: the command is shown as it was sent.
  const called = `\\$ curl http://localhost:${ingressHere}/Greeter/greet --json '"Grace"'\\n +"(?:Good morning|Hello), Grace!"\\n`;
  expect(output).toMatch(new RegExp(called));
  expect(output).toMatch(
    /✓ without a key +401\n +✓ with a key that was not issued +401\n +✓ with the key of dev at staging +403/,
  );
  expect(output).toContain("'local' is in use");
}

/** The address of the console is printed and serves the built page, or the profile where it was not built. */
async function expectTheConsole(output: string, { api }: CloudPorts): Promise<void> {
  expect(output).toContain(`console              http://localhost:${api}/   (ada@example.com, `);
  const page = await fetch(`http://localhost:${api}/`, { headers: { accept: "text/html" }, redirect: "manual" });
  const text = await page.text();
  if (existsSync(CONSOLE)) {
    expect([page.status, page.headers.get("content-security-policy")]).toEqual([200, expect.stringContaining("'nonce-")]);
    expect(text).toContain('"kind":"cloud"');
  } else expect([page.status, page.headers.get("location")]).toEqual([303, "/profile"]);
  expect((await fetch(`http://localhost:${api}/console/session`)).status).toBe(401);
}

/** The local port stays open for as long as the cloud runs, and requires no key. */
async function expectTheIngressHere({ ingressHere }: CloudPorts): Promise<void> {
  const call = { method: "POST", headers: { "content-type": "application/json" }, body: '"Mary"' };
  const answer = await fetch(`http://localhost:${ingressHere}/Greeter/greet`, call);
  expect([answer.status, await answer.json()]).toEqual([200, expect.stringContaining("Mary")]);
}

test(
  "the demo succeeds, and the tutorial; what a crash of all supervision leaves is stopped; the next run finds accounts, environments and state",
  async () => {
    const ports = await choosePorts();
    await using cleanup = new AsyncDisposableStack();
    const first = await start(ports, "up");
    cleanup.defer(async () => {
      // Whatever fails below: nothing of it stays.
      await (await start(ports, "down")).exited;
    });
    await eventually("it stays up", () => !first.isRunning || outputOf(first).includes("It stays up"), STAYS_UP_MS);
    expect(first.isRunning ? "" : outputOf(first)).toBe("");
    expectDemo(outputOf(first), ports, 1);
    await expectTheConsole(outputOf(first), ports);
    await expectTheIngressHere(ports);
    await playCloudTutorial({ api: ports.api, service: ports.service }, join(data, "reader"));
    expect(outputOf(first)).not.toContain("\u001b[");

    const listed = JSON.parse(readFileSync(join(data, "running.json"), "utf8")) as { name: string; pid: number }[];
    expect(listed.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["PostgreSQL", "tenancy", "cloud-gateway", "tunnel-relay", "greeter", "tunnel"]),
    );
    // Runtimes as well are left to themselves then.
    for (const { name, pid } of listed) if (name === "supervisor" || name === "tenancy") process.kill(pid, "SIGKILL");
    await first.exited;
    const down = await start(ports, "down");
    expect((await down.exited).code).toBe(0);
    expect(outputOf(down)).toMatch(/left over from a crash: .*cloud-gateway.*PostgreSQL.*env_.*env_/);
    expect(ours()).toEqual([]);

    const again = await start(ports, "up", "--once");
    expect((await again.exited).code === 0 ? "" : outputOf(again)).toBe("");
    expect(outputOf(again)).toContain("ada@example.com is here since an earlier run");
    expect(outputOf(again)).toContain("staging is there since an earlier run");
    expectDemo(outputOf(again), ports, 2);
    expect(ours()).toEqual([]);
    const nothing = await start(ports, "down");
    expect((await nothing.exited).code).toBe(0);
    expect(outputOf(nothing)).toBe("no cloud is running here");
  },
  WHOLE_TEST_MS,
);
