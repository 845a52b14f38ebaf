/** `perdure mcp` as a process, with the client of the protocol's library, against a real server. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { eventually, TestWorld } from "@perdure/conformance";
import { Home } from "./home.js";
import { cart, signup, testService } from "./manage-services.js";

const TEST_MS = 120_000;

let world: TestWorld;
let home: Home;

beforeAll(async () => {
  world = await TestWorld.start();
  home = await Home.make({ PERDURE_ADMIN_URL: world.server.adminUrl, PERDURE_INGRESS_URL: world.server.ingressUrl });
  await world.deploy({ services: [testService, cart, signup], inactivityMs: 200 });
}, TEST_MS);
afterAll(async () => {
  home?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

class Agent implements AsyncDisposable {
  readonly client = new Client({ name: "test", version: "1" });

  static async start(flags: readonly string[] = []): Promise<Agent> {
    const agent = new Agent();
    const env = Object.fromEntries(
      Object.entries(home.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    const command = join(home.bin(), "perdure");
    await agent.client.connect(new StdioClientTransport({ command, args: ["mcp", ...flags], env, stderr: "ignore" }));
    return agent;
  }

  async call(name: string, args: Record<string, unknown> = {}) {
    const { content, isError } = await this.client.callTool({ name, arguments: args });
    const [{ text }] = content as [{ text: string }];
    return { isError: isError === true, value: JSON.parse(text) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

const statusOf = async (id: string): Promise<unknown> => (await world.admin.row(id))?.["status"];

async function suspended(): Promise<string> {
  const { invocation_id } = await home.json<{ invocation_id: string }>(["send", "Desk/work", "600000"]);
  await eventually("it is suspended", async () => (await statusOf(invocation_id)) === "suspended" || undefined);
  return invocation_id;
}

test(
  "every tool that reads answers about the server, and changes are refused",
  async () => {
    const id = await suspended();
    await using agent = await Agent.start();
    const { tools } = await agent.client.listTools();
    expect(tools).toHaveLength(10);

    const expected: Readonly<Record<string, [args: Record<string, unknown>, value: unknown]>> = {
      list_services: [
        {},
        { services: expect.arrayContaining([expect.objectContaining({ name: "Cart", type: "VirtualObject" })]) },
      ],
      list_deployments: [{}, { deployments: [{ id: expect.stringMatching(/^dp_/) }] }],
      list_schedules: [{}, { schedules: [], left_out: 0 }],
      list_subscriptions: [{}, { subscriptions: [], left_out: 0 }],
      server_health: [{}, { healthy: true, partition_count: 24, partitions_without_leader_count: 0 }],
      list_invocations: [{ statuses: ["suspended"] }, { invocations: [{ id, target: "Desk/work" }], more: false }],
      describe_invocation: [{ id }, { invocation: { id, status: "suspended" }, explanation: { id } }],
      explain_invocation: [{ id }, { id, status: "suspended", waits_for: { kind: "future" } }],
      invocation_timeline: [
        { id, payloads: true },
        { id, next_step: null, steps: expect.arrayContaining([expect.anything()]) },
      ],
      query_sql: [{ statement: "SELECT count(*) AS n FROM sys_invocation" }, { rows: [{ n: 1 }], left_out: 0 }],
    };
    for (const { name } of tools) {
      const [args, value] = expected[name] ?? [{}, undefined];
      expect([name, await agent.call(name, args)]).toMatchObject([name, { isError: false, value }]);
    }

    const notAQuery = await agent.call("query_sql", { statement: "DELETE FROM sys_invocation" });
    expect([notAQuery.isError, notAQuery.value.error.message]).toEqual([true, expect.any(String)]);
    const refused = await agent.call("plan_change", { operation: "kill", ids: [id] });
    expect([refused.isError, refused.value.error.advice]).toEqual([true, expect.stringContaining("--allow-changes")]);
    expect(await statusOf(id)).toBe("suspended");
    await home.run(["invocations", "kill", id]);
  },
  TEST_MS,
);

test(
  "a plan changes nothing until it is confirmed, and is executed once, on its invocations only",
  async () => {
    const [planned, other] = [await suspended(), await suspended()];
    await using agent = await Agent.start(["--allow-changes"]);
    const { value: plan } = await agent.call("plan_change", { operation: "cancel", ids: [planned], reason: "test" });
    expect(plan).toMatchObject({ count: 1, invocations: [{ id: planned, status: "suspended" }] });
    expect(await statusOf(planned)).toBe("suspended");

    const { value: outcome } = await agent.call("confirm_change", { plan_id: plan.plan_id });
    expect(outcome).toMatchObject({ state: "finished", matched: 1, succeeded: 1, failed: 0 });
    await eventually("it is cancelled", async () => (await statusOf(planned)) === "completed" || undefined);
    expect((await agent.call("confirm_change", { plan_id: plan.plan_id })).isError).toBe(true);
    expect(await statusOf(other)).toBe("suspended");

    const { value: restart } = await agent.call("plan_change", { operation: "restart", ids: [planned, other] });
    expect(restart).toMatchObject({ count: 1, not_applicable: [other] });
    const { value: restarted } = await agent.call("confirm_change", { plan_id: restart.plan_id });
    const [{ new_invocation_id }] = restarted.restarted;
    expect(await statusOf(new_invocation_id)).not.toBe("completed");

    const { value: kill } = await agent.call("plan_change", { operation: "kill", services: ["Desk"] });
    expect(kill.invocations.map(({ id }: { id: string }) => id).sort()).toEqual([other, new_invocation_id].sort());
    expect((await agent.call("confirm_change", { plan_id: kill.plan_id })).value).toMatchObject({ succeeded: 2 });
  },
  TEST_MS,
);

test("stdout has messages of the protocol only, calls in progress are answered, and the process ends with its stdin", async () => {
  const clientInfo = { name: "test", version: "1" };
  const messages = [
    { id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: { name: "server_health", arguments: {} } },
  ];
  const stdin = messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");
  const { exitCode, stdout, stderr } = await home.run(["mcp"], { stdin });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect([exitCode, lines.map(({ jsonrpc, id }) => [jsonrpc, id])]).toEqual([
    0,
    [
      ["2.0", 1],
      ["2.0", 2],
    ],
  ]);
  expect(lines[0].result).toMatchObject({ serverInfo: { name: "perdure" }, capabilities: { tools: {} } });
  expect(stderr).toContain("read-only");
});

test("an unknown environment ends the process before the protocol begins", async () => {
  const { exitCode, stdout, stderr } = await home.run(["mcp", "--env", "nope"]);
  expect([exitCode === 0, stdout]).toEqual([false, ""]);
  expect(stderr).toContain("nope");
});
