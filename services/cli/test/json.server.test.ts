/** Checks `--json` of every command, because programs depend on it; a new command without a case fails here. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { eventually, TestWorld } from "@perdure/conformance";
import * as restate from "@restatedev/restate-sdk";
import type { Command } from "commander";
import type { ContextPorts } from "../src/context.js";
import { createProgram } from "../src/program.js";
import { PROGRAMS } from "../src/programs.js";
import { runCommand } from "../src/run.js";
import { Variables } from "../src/variables.js";

const TEST_MS = 300_000;

interface Facts {
  readonly deployment: string;
  readonly address: string;
  /** Of completed invocations, each used once. */
  readonly done: readonly string[];
  /** Of suspended invocations, each used once. */
  readonly waiting: readonly string[];
  readonly awakeables: readonly string[];
}

type Outcome = "value" | "refused";

/** Arguments of a command, and whether it then succeeds; in this order, since some create what later ones need. */
type Row = readonly [command: string, outcome: Outcome, args?: (facts: Facts) => readonly (string | undefined)[]];

/** Needs a login, or runs until Ctrl-C: here its refusal is checked. */
const refused = (command: string, ...args: string[]): Row => [command, "refused", () => args];
const works = (command: string, args?: (facts: Facts) => readonly (string | undefined)[]): Row =>
  args === undefined ? [command, "value"] : [command, "value", args];

const LOCAL: readonly Row[] = [
  works("version"),
  works("cluster status"),
  works("deployments list"),
  works("deployments describe", ({ deployment }) => [deployment]),
  works("deployments register", ({ address }) => [address, "--force", "-y"]),
  works("deployments update", ({ deployment }) => [deployment, "-H", "x-a: b", "-y"]),
  works("deployments check", ({ deployment }) => [deployment]),
  refused("deployments remove", "dp_none", "-y"),
  works("services list"),
  works("services describe", () => ["Desk"]),
  works("services openapi", () => ["Desk"]),
  works("services config view", () => ["Desk"]),
  refused("services config edit", "None"),
  works("services config set", () => ["Desk", "--public", "-y"]),
  works("call", () => ["Desk/echo", "1"]),
  works("send", () => ["Desk/echo", "1"]),
  works("invocations list"),
  works("invocations describe", ({ done }) => [done[0]]),
  works("invocations watch", ({ done }) => [done[0]]),
  works("invocations result", ({ done }) => [done[0]]),
  works("explain", ({ waiting }) => [waiting[0]]),
  refused("replay", "none.bundle.json.gz"),
  works("bundle", ({ waiting }) => [waiting[0], "--out", join(tmpdir(), `${waiting[0]}.bundle.json.gz`)]),
  works("fork", ({ done }) => [done[0], "--at", "0"]),
  works("compare", ({ done }) => [done[0], done[1]]),
  works("logs", ({ done }) => [done[0]]),
  works("invocations pause", ({ waiting }) => [waiting[0], "-y"]),
  works("invocations resume", ({ waiting }) => [waiting[0], "-y"]),
  works("invocations cancel", ({ waiting }) => [waiting[0], "-y"]),
  works("invocations kill", ({ waiting }) => [waiting[1], "-y"]),
  works("invocations restart", ({ done }) => [done[1], "-y"]),
  works("invocations purge", ({ done }) => [done[2], "-y"]),
  works("operations list"),
  refused("operations describe", "op_none"),
  refused("undo", "op_none"),
  refused("invocations crash", "inv_none"),
  works("invocations batches list"),
  refused("invocations batches describe", "batch_none"),
  refused("invocations batches follow", "batch_none"),
  refused("invocations batches cancel", "batch_none", "-y"),
  works("state set", () => ["Cart", "a", "sum", "1", "-y"]),
  works("state list", () => ["Cart"]),
  works("state get", () => ["Cart", "a"]),
  works("state ttl", () => ["Cart", "a", "--set", "1h"]),
  refused("state edit", "None", "a"),
  works("state clear", () => ["Cart", "a", "-y"]),
  works("awakeables resolve", ({ awakeables }) => [awakeables[0], "1"]),
  works("awakeables reject", ({ awakeables }) => [awakeables[1], "no"]),
  works("promises list", () => ["Signup"]),
  works("sql", () => ["SELECT 1 AS one"]),
  works("subscriptions list"),
  refused("subscriptions describe", "sub_none"),
  refused("subscriptions create", "kafka://none/topic", "service://Desk/echo"),
  refused("subscriptions pause", "sub_none"),
  refused("subscriptions resume", "sub_none"),
  refused("subscriptions skip", "sub_none", "0", "0", "-y"),
  refused("subscriptions delete", "sub_none", "-y"),
  works("kafka-clusters create", () => ["k", "--option", "bootstrap.servers=127.0.0.1:1"]),
  works("kafka-clusters list"),
  works("kafka-clusters describe", () => ["k"]),
  works("kafka-clusters update", () => ["k", "--option", "client.id=x"]),
  works("kafka-clusters delete", () => ["k", "-y"]),
  works("schedules create", () => ["nightly", "@daily", "Desk/echo", "1"]),
  works("schedules list"),
  works("schedules describe", () => ["nightly"]),
  refused("schedules edit", "none"),
  works("schedules pause", () => ["nightly"]),
  works("schedules resume", () => ["nightly"]),
  works("schedules run", () => ["nightly"]),
  works("schedules backfill", () => ["nightly", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T00:00:00Z", "-y"]),
  works("schedules next", () => ["nightly"]),
  works("schedules delete", () => ["nightly", "-y"]),
  works("events subscribe", () => ["--on", "invocation.failed", "--to", "https://hooks.example/"]),
  works("events list"),
  refused("events describe", "none"),
  works("events deliveries"),
  refused("events replay", "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz"),
  refused("events rotate-secret", "none"),
  refused("events revoke-old-secret", "none", "-y"),
  refused("events delete", "none", "-y"),
  works("rules set", () => ["acme", "--concurrency", "2"]),
  works("rules list"),
  works("rules disable", () => ["acme"]),
  works("rules enable", () => ["acme"]),
  works("rules usage"),
  works("rules remove", () => ["acme", "-y"]),
  works("queues list"),
  refused("queues describe", "vq_none"),
  refused("queues pause", "vq_none"),
  refused("queues resume", "vq_none"),
  works("errors", () => ["META0003"]),
  works("completion", () => ["bash"]),
  works("env list"),
  works("env current"),
];

const WITHOUT_LOGIN: readonly Row[] = [
  ...Object.keys(PROGRAMS).map((program) => refused(program)),
  refused("mcp", "--env", "no-such-environment"),
  refused("dev", "--port", "0"),
  refused("link", "--port", "0"),
  refused("tunnel", "--no-such-flag"),
  refused("login", "--no-such-flag"),
  works("logout"),
  works("whoami"),
  refused("token"),
  ...["list", "describe", "update --name x"].map((rest) => refused(...splitCommand("account", rest))),
  ...["create a", "use a", "plan free", "join a"].map((rest) => refused(...splitCommand("account", rest))),
  ...["describe", "update --description x", "suspend", "resume", "logs"].map((rest) => refused(...splitCommand("env", rest))),
  ...["create a", "configure a", "use a", "delete a", "undelete a"].map((rest) => refused(...splitCommand("env", rest))),
  ...["create", "list", "revoke a"].map((rest) => refused(...splitCommand("keys", rest))),
  ...["list", "invite a@b.c", "withdraw a@b.c", "update a --role owner", "remove a"].map((rest) =>
    refused(...splitCommand("members", rest)),
  ),
  ...["show", "rotate", "promote", "retire"].map((rest) => refused(...splitCommand("signing-key", rest))),
  refused("usage"),
  ...["list", "export"].map((rest) => refused(...splitCommand("audit", rest))),
  refused("tunnels list"),
];

/** `account`, `use a` → `account use`, `a`. */
function splitCommand(group: string, rest: string): [string, ...string[]] {
  const [verb, ...args] = rest.split(" ");
  return [`${group} ${verb}`, ...args];
}

let world: TestWorld;
let home: string;
let facts: Facts;

const testService = restate.service({
  name: "Desk",
  handlers: {
    echo: async (_ctx: restate.Context, value: number) => value,
    refuse: async () => {
      throw new restate.TerminalError("taken", { errorCode: 409 });
    },
    wait: async (ctx: restate.Context) => await ctx.sleep(3_600_000),
    ask: async (ctx: restate.Context) => {
      const { id, promise } = ctx.awakeable<number>();
      await ctx.run("publish", () => awakeables.push(id));
      return await promise;
    },
  },
});
const cart = restate.object({ name: "Cart", handlers: { add: async (_ctx: restate.ObjectContext) => 1 } });
const signup = restate.workflow({ name: "Signup", handlers: { run: async (_ctx: restate.WorkflowContext) => 1 } });
const awakeables: string[] = [];

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

function portsOf(written: { stdout: string; stderr: string }): ContextPorts {
  const shell = {
    HOME: home,
    PERDURE_ADMIN_URL: world.server.adminUrl,
    PERDURE_INGRESS_URL: world.server.ingressUrl,
    PERDURE_API_URL: "http://127.0.0.1:1",
    EDITOR: "true",
  };
  return {
    variables: new Variables(shell),
    clock: systemClock,
    stdin: process.stdin,
    stdout: { write: (text: string) => (written.stdout += text) },
    stderr: { write: (text: string) => (written.stderr += text) },
    signal: new AbortController().signal,
    fetch,
  };
}

async function run(...args: readonly string[]): Promise<Ran> {
  const written = { stdout: "", stderr: "" };
  const exitCode = await runCommand([...args, "--json"], portsOf(written));
  return { exitCode, ...written };
}

async function sent(handler: string): Promise<string> {
  const { stdout } = await run("send", `Desk/${handler}`, ...(handler === "echo" ? ["1"] : []));
  return (JSON.parse(stdout) as { invocation_id: string }).invocation_id;
}

const someOf = (handler: string, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => sent(handler)));

beforeAll(async () => {
  world = await TestWorld.start();
  home = mkdtempSync(join(tmpdir(), "perdure-json-"));
  const { endpoint, id } = await world.deploy({ services: [testService, cart, signup], inactivityMs: 200 });
  const [done, waiting] = [await someOf("echo", 3), await someOf("wait", 2)];
  await someOf("ask", 2);
  for (const [ids, status] of [
    [done, "completed"],
    [waiting, "suspended"],
  ] as const)
    for (const one of ids)
      await eventually(`${one} is ${status}`, async () => (await world.admin.row(one))?.["status"] === status || undefined);
  await eventually("awakeables are known", () => awakeables.length >= 2 || undefined);
  facts = { deployment: id, address: endpoint.url, done, waiting, awakeables };
}, TEST_MS);
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

/** Names of all commands with an action, as the user types them. */
function leavesOf(command: Command, above = ""): string[] {
  const shown = command.createHelp().visibleCommands(command);
  return shown
    .filter((one) => one.name() !== "help")
    .flatMap((one) => {
      const name = `${above}${one.name()}`;
      return one.commands.length === 0 ? [name] : leavesOf(one, `${name} `);
    });
}

const leaves = (): string[] => leavesOf(createProgram(portsOf({ stdout: "", stderr: "" }), "0").command);

/** One value, or one per line. */
function isJson(text: string): boolean {
  const parses = (one: string): boolean => {
    try {
      JSON.parse(one);
      return true;
    } catch {
      return false;
    }
  };
  return parses(text) || (text.endsWith("\n") && text.trimEnd().split("\n").every(parses));
}

/** Why an answer is not valid for programs; undefined when it is valid. */
function faultOf({ exitCode, stdout, stderr }: Ran, outcome: Outcome): unknown {
  if ((exitCode === 0) !== (outcome === "value")) return { exitCode, stdout, stderr };
  if (outcome === "value") return isJson(stdout) ? undefined : { stdout };
  const isError =
    stderr.trimEnd().split("\n").length === 1 && isJson(stderr) && typeof JSON.parse(stderr).error.message === "string";
  return isError && (stdout === "" || isJson(stdout)) ? undefined : { stdout, stderr };
}

test("every command is listed here with what it is run with", () => {
  const listed = [...LOCAL, ...WITHOUT_LOGIN].map(([command]) => command);
  expect(listed.toSorted()).toEqual(leaves().toSorted());
});

test(
  "every command prints one JSON value or JSON lines to stdout, and its error as JSON to stderr",
  async () => {
    const faults: unknown[] = [];
    for (const [command, outcome, args] of [...LOCAL, ...WITHOUT_LOGIN]) {
      const ran = await run(...command.split(" "), ...(args?.(facts) ?? []).map(String));
      const fault = faultOf(ran, outcome);
      if (fault !== undefined) faults.push({ command, outcome, fault });
    }
    expect(faults).toEqual([]);
  },
  TEST_MS,
);

test("wrong usage is an error in JSON, with the command whose help explains it", async () => {
  for (const command of leaves()) {
    if (command in PROGRAMS) continue; // Its flags are the program's.
    const ran = await run(...command.split(" "), "--no-such-flag");
    expect([command, ran.exitCode, faultOf(ran, "refused")]).toEqual([command, 2, undefined]);
    expect(JSON.parse(ran.stderr)).toMatchObject({ error: { advice: `See: perdure ${command} --help`, exitCode: 2 } });
  }
  const group = await run("deployments");
  expect([group.exitCode, faultOf(group, "refused")]).toEqual([2, undefined]);
});

test("a path that does not fit the type of its service is explained in the form of the command", async () => {
  const adviceOf = async (...args: string[]): Promise<unknown> => {
    const { exitCode, stderr } = await run(...args);
    return [exitCode, (JSON.parse(stderr) as { error: { advice: string } }).error.advice];
  };
  expect(await adviceOf("call", "Cart/add", "5")).toEqual([2, "Write: Cart/<key>/add"]);
  expect(await adviceOf("send", "Signup/run")).toEqual([2, "Write: Signup/<key>/run"]);
  expect(await adviceOf("call", "Desk/a/echo", "5")).toEqual([2, "Write: Desk/echo"]);
  expect(await adviceOf("rules", "set", "acme")).toEqual([2, "For example: perdure rules set 'acme' --concurrency 2"]);
  expect(await adviceOf("rules", "set", "acme", "--new")).toEqual([2, expect.stringContaining("perdure rules set")]);
});

test("call and send name the invocation alike, and a failure of the handler has its id and status as fields", async () => {
  const id = expect.stringMatching(/^inv_1/);
  expect(JSON.parse((await run("send", "Desk/echo", "1")).stdout)).toEqual({
    invocation_id: id,
    status: "Accepted",
    execution_time: null,
  });
  expect(JSON.parse((await run("call", "Desk/echo", "1")).stdout)).toEqual({ invocation_id: id, result: 1 });
  const refused = await run("call", "Desk/refuse");
  expect(refused.exitCode).toBe(1);
  expect(JSON.parse(refused.stderr)).toMatchObject({ error: { invocation_id: id, status: 409, exitCode: 1 } });
});

test("versions are labelled: the release that the server is compatible with, and that of the command line", async () => {
  const { stdout } = await run("version");
  expect(JSON.parse(stdout)).toMatchObject({ version: "1.7.12", commandLine: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  const written = { stdout: "", stderr: "" };
  expect(await runCommand(["version"], portsOf(written))).toBe(0);
  expect(written.stdout).toMatch(/^this command line: perdure \d[^\n]*\n[^\n]*compatible with Restate 1\.7\.12, at http/);
});

test("the version of the command line is printed when no server answers, too; with --json an error is JSON alone", async () => {
  const written = { stdout: "", stderr: "" };
  const variables = new Variables({
    HOME: home,
    PERDURE_ADMIN_URL: "http://127.0.0.1:1",
    PERDURE_INGRESS_URL: "http://127.0.0.1:1",
  });
  const ports = { ...portsOf(written), variables };
  expect(await runCommand(["version"], ports)).toBe(1);
  expect(written.stdout).toMatch(/^this command line: perdure \d+\.\d+\.\d+/);
  expect(written.stderr).toContain("cannot be reached");
  written.stdout = written.stderr = "";
  expect(await runCommand(["version", "--json"], ports)).toBe(1);
  expect(written.stdout).toBe("");
  expect(JSON.parse(written.stderr)).toMatchObject({ error: { exitCode: 1 } });
});
