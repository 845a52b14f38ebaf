/** The official command line, unmodified, on rules and virtual queues. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { CommandResult } from "@perdure/processes";
import { handlers, type ObjectContext, object } from "@restatedev/restate-sdk";
import { Cli } from "../src/cli/index.js";
import { eventually, TestWorld } from "../src/index.js";
import { admissionGate, type GateRequest, gateService } from "../src/services/admission-gate.js";

const gateObject = object({
  name: "GateObject",
  handlers: {
    pass: handlers.object.exclusive(async (ctx: ObjectContext, request: GateRequest) => {
      await admissionGate.enter(request, ctx.request().attemptCompletedSignal);
      return request.name;
    }),
  },
});

let world: TestWorld;
let cli: Cli;
beforeAll(async () => {
  world = await TestWorld.start();
  cli = world.own(new Cli(world.server));
  await world.deploy({ services: [gateService, gateObject] });
});
afterAll(async () => world[Symbol.asyncDispose]());

async function run(...args: readonly string[]): Promise<CommandResult> {
  const result = await cli.run(args);
  expect({ args, ...result }).toMatchObject({ exitCode: 0 });
  return result;
}

const rule = async (pattern: string) =>
  (await world.admin.query(`select concurrency, disabled, description, version from sys_rules where pattern = '${pattern}'`))[0];
const inside = (group: string, count: number) =>
  eventually(`${count} inside ${group}`, () => admissionGate.group(group).inside.size === count);

async function send(scope: string, request: GateRequest): Promise<string> {
  const answer = await world.ingress.http.request("POST", `/restate/scope/${scope}/send/Gate/pass`, { json: request });
  return (answer.json as { invocationId: string }).invocationId;
}

describe("restate rules", () => {
  test("sets, changes, disables, enables and deletes, and work heeds it", async () => {
    await run("rules", "set", "cli", "--concurrency", "1", "--description", "one at a time", "-y");
    expect(await rule("cli")).toMatchObject({ concurrency: 1, disabled: false, description: "one at a time" });
    const ids = await Promise.all(["a", "b", "c", "d"].map((name) => send("cli", { group: "cli", name })));
    await inside("cli", 1);
    await run("rules", "set", "cli", "--concurrency", "2", "-y");
    await inside("cli", 2);
    await run("rules", "disable", "cli", "-y");
    expect(await rule("cli")).toMatchObject({ concurrency: 2, disabled: true });
    await inside("cli", 4);
    await run("rules", "enable", "cli", "-y");
    expect((await run("rules", "list", "--extra")).stdout).toMatch(/cli\s+2\s+no\s+one at a time/);
    await run("rules", "delete", "cli", "-y");
    expect(await rule("cli")).toBeUndefined();
    admissionGate.leaveAll("cli");
    await Promise.all(ids.map((id) => world.ingress.outcome(id)));
  });

  test("leaves what it does not know as it is", async () => {
    const limits = { rate: { limit: 100, per: "1m", burst: 7 } };
    await world.admin.http.request("PUT", "/limits/rules", { json: [{ pattern: "ours/*", limits, weight: 5, priority: 2 }] });
    await run("rules", "set", "ours/*", "--concurrency", "9", "-y");
    expect(await rule("ours/*")).toMatchObject({ concurrency: 9 });
    expect(await world.admin.query("select * from sys_rate_limits where pattern = 'ours/*'")).toEqual([
      { pattern: "ours/*", rate_limit: 100, rate_period: "PT60S", burst: 7, weight: 5, priority: 2 },
    ]);
  });

  test("refuses what is not a pattern", async () => {
    expect(await cli.run(["rules", "set", "a/b/c/d", "--concurrency", "1", "-y"])).toMatchObject({ exitCode: 1 });
  });
});

describe("restate vqueues", () => {
  test("lists, describes, pauses and resumes the queue of a scope", async () => {
    const ids = [await send("line", { group: "line", name: "first" })];
    await inside("line", 1);
    const { stdout } = await run("vqueues", "list");
    const id = /vq_1\w{33}(?=\s+Gate\s+line)/.exec(stdout)?.[0] ?? "";
    expect(id).not.toBe("");
    expect((await run("vqueues", "pause", id, "-y")).stdout).toContain("Paused");
    ids.push(await send("line", { group: "line", name: "second" }));
    const described = await eventually("the second is in line", async () => {
      const result = await run("vqueues", "describe", id);
      return result.stdout.includes(ids[1] ?? "") ? result.stdout : undefined;
    });
    expect(described).toMatch(/Scope:\s+line/);
    expect(described).toMatch(/Paused:\s+true/);
    expect(described).toMatch(new RegExp(`${ids[0]}\\s+invocation\\s+running\\s+started\\s+false\\s+1`));
    expect(described).toMatch(new RegExp(`${ids[1]}\\s+invocation\\s+inbox\\s+new\\s+false\\s+0`));
    admissionGate.leaveAll("line");
    await world.ingress.outcome(ids[0] ?? "");
    expect(admissionGate.group("line").came).toEqual(["first"]);
    expect((await run("vqueues", "resume", id, "-y")).stdout).toContain("Resumed");
    await world.ingress.outcome(ids[1] ?? "");
  });

  test("does the same with the queue of an object, whose holder continues", async () => {
    const ids: string[] = [];
    for (const name of ["holder", "next"]) {
      ids.push((await world.ingress.send(["GateObject", "k", "pass"], { group: "lock", name })).invocationId);
    }
    await inside("lock", 1);
    const [queue] = await world.admin.query(
      "select id, num_inbox, num_running from sys_vqueue_meta where lock_name = 'GateObject/k'",
    );
    expect(queue).toMatchObject({ num_inbox: 1, num_running: 1 });
    const id = String(queue?.["id"]);
    expect(await world.admin.query(`select vqueue_id from sys_invocation where id = '${ids[1]}'`)).toEqual([{ vqueue_id: id }]);
    expect(await world.admin.query("select lock_name, acquired_by from sys_locks")).toEqual([
      { lock_name: "GateObject/k", acquired_by: ids[0] },
    ]);
    expect(await world.admin.query(`select blocked_on, blocked_on_json from sys_scheduler where id = '${id}'`)).toEqual([
      { blocked_on: "lock", blocked_on_json: '{"resource":"lock","scope":null,"lock_name":"GateObject/k"}' },
    ]);
    await run("vqueues", "pause", id, "-y");
    admissionGate.leave("lock", "holder");
    await world.ingress.outcome(ids[0] ?? "");
    const described = (await run("vqueues", "describe", id)).stdout;
    expect(described).toMatch(/Lock:\s+GateObject\/k/);
    expect(described).toMatch(/Paused:\s+true/);
    expect(admissionGate.group("lock").came).toEqual(["holder"]);
    admissionGate.leaveAll("lock");
    await run("vqueues", "resume", id, "-y");
    await world.ingress.outcome(ids[1] ?? "");
    expect(admissionGate.group("lock").came).toEqual(["holder", "next"]);
  });

  test("can still resume a paused queue that has become empty", async () => {
    const first = await send("drained", { group: "drained", name: "first" });
    await inside("drained", 1);
    const [queue] = await world.admin.query("select id from sys_vqueue_meta where scope = 'drained'");
    const id = String(queue?.["id"]);
    await run("vqueues", "pause", id, "-y");
    admissionGate.leaveAll("drained");
    await world.ingress.outcome(first);
    expect((await run("vqueues", "resume", id, "-y")).stdout).toContain("Resumed");
    await world.ingress.outcome(await send("drained", { group: "drained", name: "second" }));
  });
});
