/** The tools over the protocol, with a management API that answers as the tests say. */
import { afterEach, describe, expect, test } from "@jest/globals";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { AdminClient, type ApiTransport } from "@perdure/admin-client";
import { aHandler, aService } from "@perdure/admin-client/testing";
import { utf8 } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { PLAN_AGE_MS_MAX, RESULT_BYTES_MAX, TEXT_CHARS_MAX } from "./limits.js";
import { createToolServer } from "./server.js";

const ID = "inv_1gm4LUXPiTUX1WkZ5bZXtGwmwbP9zKNGHD";
const OTHER_ID = "inv_10dYp8ZdXKkN3DmZz9qSCYhZpGhzFv7hXn";

interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

type Answer = (request: SentRequest) => { status?: number; body: unknown } | undefined;

const closing: Client[] = [];
afterEach(async () => {
  for (const client of closing.splice(0)) await client.close();
});

/** A connected agent; `answer` is the management API. */
async function agentOf(answer: Answer, allowsChanges = false) {
  const clock = new VirtualClock(1_700_000_000_000);
  const requests: SentRequest[] = [];
  const transport: ApiTransport = async ({ method, url, body }) => {
    const request = { method, path: url.pathname.replace("/v4", ""), body: typeof body === "string" ? JSON.parse(body) : {} };
    requests.push(request);
    const { status = 200, body: response } = answer(request) ?? { status: 404, body: { message: `no ${request.path}` } };
    return { status, header: () => undefined, body: utf8(JSON.stringify(response)) };
  };
  const admin = new AdminClient({ baseUrl: "http://localhost:9070", transport, userAgent: "test", token: () => undefined });
  const environment = { name: "local", adminUrl: "http://localhost:9070" };
  const { server } = createToolServer({ admin, clock, environment }, allowsChanges, new AbortController().signal);
  const [ofClient, ofServer] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1" });
  await Promise.all([server.connect(ofServer), client.connect(ofClient)]);
  closing.push(client);
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const [{ text }] = content as [{ text: string }];
    return { isError: isError === true, text, value: JSON.parse(text) };
  };
  return { client, call, clock, requests };
}

const rowsOf =
  (rows: readonly Record<string, unknown>[]): Answer =>
  ({ path }) =>
    path === "/query" ? { body: { rows } } : undefined;
const statementOf = ({ body }: SentRequest): unknown => body["query"];

const READING = [
  "list_services",
  "list_deployments",
  "list_schedules",
  "list_subscriptions",
  "server_health",
  "list_invocations",
  "describe_invocation",
  "explain_invocation",
  "invocation_timeline",
  "query_sql",
];

describe("the tools", () => {
  test("only read by default, and are marked so", async () => {
    const { client } = await agentOf(() => undefined);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(READING);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect(tools.every(({ inputSchema }) => inputSchema["additionalProperties"] === false)).toBe(true);
  });

  test("change invocations only when changes are allowed, and only by a confirmation", async () => {
    const { client } = await agentOf(() => undefined, true);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...READING, "plan_change", "confirm_change"]);
    expect(tools.filter(({ annotations }) => annotations?.destructiveHint).map(({ name }) => name)).toEqual(["confirm_change"]);
  });

  test("that change are refused with the flag that allows them", async () => {
    const { call, requests } = await agentOf(() => undefined);
    for (const name of ["plan_change", "confirm_change"]) {
      const { isError, value } = await call(name, { operation: "kill", ids: [ID] });
      expect([isError, value.error.advice]).toEqual([true, expect.stringContaining("--allow-changes")]);
    }
    expect(requests).toEqual([]);
  });

  test("that do not exist are an error of the protocol", async () => {
    const { call } = await agentOf(() => undefined);
    await expect(call("remove_everything")).rejects.toThrow("There is no tool 'remove_everything'");
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["explain_invocation", { id: "inv_1" }, "ids of invocations begin with inv_1"],
    ["explain_invocation", { id: ID, force: true }, "force"],
    ["list_invocations", { statuses: ["happy"] }, "statuses"],
    ["list_invocations", { stuck_for: "soon" }, "write a duration"],
    ["list_invocations", { limit: 100_000 }, "limit"],
    ["list_invocations", { where: "1=1) OR (1=1" }, "parentheses"],
  ])("refuse arguments that are not valid: %s %j", async (name, args, why) => {
    const { call, requests } = await agentOf(() => undefined);
    const { isError, value } = await call(name, args);
    expect([isError, value.error.message]).toEqual([true, expect.stringContaining(why)]);
    expect(requests).toEqual([]);
  });

  test("report refusals of the server with its code, advice and request id", async () => {
    const body = { message: "[PERD0201] not allowed", restate_code: "PERD0201", request_id: "req_1" };
    const { call } = await agentOf(() => ({ status: 403, body }));
    expect(await call("list_services")).toMatchObject({
      isError: true,
      value: { error: { code: "PERD0201", message: "not allowed", request_id: "req_1", advice: expect.any(String) } },
    });
  });
});

describe("lists", () => {
  test("of services have handlers without schemas", async () => {
    const services = [aService("Cart", [aHandler("add", { ty: "Exclusive", input_json_schema: { type: "object" } })])];
    const { call } = await agentOf(() => ({ body: { services } }));
    const { value } = await call("list_services");
    expect(value).toMatchObject({ services: [{ name: "Cart", revision: 1, deployment_id: "dp_1" }], left_out: 0 });
    expect(value.services[0].handlers).toEqual([{ name: "add", type: "Exclusive", public: true }]);
  });

  test("of deployments have names of headers, not their values", async () => {
    const deployment = {
      id: "dp_1",
      uri: "http://a/",
      protocol_type: "BidiStream",
      http_version: "HTTP/2.0",
      additional_headers: { authorization: "Bearer secret" },
      created_at: "2026-11-26T00:00:00Z",
      min_protocol_version: 5,
      max_protocol_version: 6,
      services: [{ name: "Cart", revision: 1 }],
    };
    const { call } = await agentOf(() => ({ body: { deployments: [deployment] } }));
    const { text, value } = await call("list_deployments");
    expect(value.deployments[0]).toMatchObject({ id: "dp_1", additional_headers: ["authorization"] });
    expect(text).not.toContain("secret");
  });

  test("of invocations select with filters that cannot become SQL, and say when there are more", async () => {
    const rows = [{ id: ID }, { id: OTHER_ID }];
    const { call, requests } = await agentOf(rowsOf(rows));
    const { value } = await call("list_invocations", { services: ["it's"], stuck_for: "1m", limit: 1 });
    expect(value).toEqual({ invocations: [{ id: ID }], more: true });
    const statement = statementOf(requests[0]!);
    expect(statement).toContain("target_service_name = 'it''s' AND modified_at < TIMESTAMP '2023-11-14 22:12:20.000'");
    expect(statement).toContain("AND status != 'completed' ORDER BY created_at DESC LIMIT 2");
    await call("list_invocations", { include_completed: true });
    expect(statementOf(requests[1]!)).not.toContain("WHERE");
  });

  test("report a server that is not healthy", async () => {
    const { call } = await agentOf(() => ({ status: 503, body: { message: "starting" } }));
    expect((await call("server_health")).value).toMatchObject({ healthy: false, error: { message: "starting" } });
  });
});

describe("results", () => {
  test("end before they are too long, and count what is left out", async () => {
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ n, text: "x".repeat(1_000) }));
    const { call } = await agentOf(rowsOf(rows));
    const { text, value } = await call("query_sql", { statement: "SELECT 1", limit: 1_000 });
    expect(text.length).toBeLessThan(RESULT_BYTES_MAX);
    expect(value.rows.length).toBeGreaterThan(10);
    expect(value.rows.length + value.left_out).toBe(1_000);
  });

  test("have the beginning of long texts", async () => {
    const { call } = await agentOf(rowsOf([{ text: "x".repeat(TEXT_CHARS_MAX + 7) }]));
    const { value } = await call("query_sql", { statement: "SELECT 1" });
    expect(value.rows[0].text).toBe(`${"x".repeat(TEXT_CHARS_MAX)}… (7 more characters)`);
  });

  test("that cannot be shortened are refused with advice", async () => {
    const row = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`c${n}`, "x".repeat(3_000)]));
    const situation = {
      id: ID,
      target: "A/a",
      status: "suspended",
      since: "2026-11-26T00:00:00Z",
      for_ms: 1,
      sentence: "It waits.",
    };
    const explanation = {
      ...situation,
      waits_for: { kind: "retry" },
      deployment: { id: null, state: "found", pinned: false },
      journal_is_partial: false,
      at: "2026-11-26T00:00:00Z",
      chain: [],
      chain_is_cut: false,
      blocked_by: null,
      deadlock: null,
      remedies: [],
    };
    const { call } = await agentOf((sent) => ({ body: sent.path === "/query" ? { rows: [row] } : explanation }));
    const { isError, value } = await call("describe_invocation", { id: ID });
    expect([isError, value.error.advice]).toEqual([true, expect.stringContaining("query_sql")]);
    expect((await call("explain_invocation", { id: ID })).value).toEqual(explanation);
  });
});

/** A server on which two invocations match, and one of them refuses. */
const changeable: Answer = ({ method, path, body }) => {
  if (path === "/query") {
    return {
      body: {
        rows: [
          { id: ID, target: "A/a", status: "suspended" },
          { id: OTHER_ID, target: "A/a", status: "running" },
        ],
      },
    };
  }
  if (path === "/invocations/batch" && body["dry_run"] === true)
    return { body: { operation: body["operation"], dry_run: true, matched: 2, more_matched: false, sample: [] } };
  const batch = {
    id: "batch_1",
    operation: "kill",
    state: "finished",
    filter: null,
    deployment: null,
    matched: 2,
    more_matched: false,
    done: 2,
    succeeded: 1,
    failed: 1,
    remaining: 0,
    started_at: "2026-11-26T00:00:00Z",
    finished_at: "2026-11-26T00:00:01Z",
    started_by: null,
    reason: null,
  };
  if (path === "/invocations/batch" && method === "POST") return { status: 202, body: batch };
  const refused = { invocation_id: OTHER_ID, result: "failed", status: 409, error: "completed meanwhile" };
  return { body: { results: [{ invocation_id: ID, result: "succeeded", status: 200 }, refused], next_cursor: null } };
};

const begun = (requests: readonly SentRequest[]): readonly SentRequest[] =>
  requests.filter(({ path, body }) => path === "/invocations/batch" && body["dry_run"] !== true);

describe("a plan", () => {
  test("changes nothing; its confirmation executes exactly the invocations that it lists, once", async () => {
    const { call, requests } = await agentOf(changeable, true);
    const { value: plan } = await call("plan_change", { operation: "kill", services: ["A"], reason: "stuck" });
    expect(plan).toMatchObject({ count: 2, more_match: false, not_applicable: [], invocations: [{ id: ID }, { id: OTHER_ID }] });
    expect(statementOf(requests[0]!)).toContain("status != 'completed' AND target_service_name = 'A'");
    expect(begun(requests)).toEqual([]);

    const { value: outcome } = await call("confirm_change", { plan_id: plan.plan_id });
    expect(outcome).toMatchObject({ batch_id: "batch_1", succeeded: 1, failed: 1 });
    expect(outcome.failures).toEqual([expect.objectContaining({ invocation_id: OTHER_ID, error: "completed meanwhile" })]);
    expect(begun(requests).map(({ body }) => body)).toEqual([
      { operation: "kill", ids: [ID, OTHER_ID], reason: "perdure mcp: stuck" },
    ]);

    const again = await call("confirm_change", { plan_id: plan.plan_id });
    expect([again.isError, again.value.error.message]).toEqual([true, expect.stringContaining("it was executed")]);
    expect(begun(requests)).toHaveLength(1);
  });

  test("expires after ten minutes", async () => {
    const { call, clock, requests } = await agentOf(changeable, true);
    const { value: plan } = await call("plan_change", { operation: "kill", ids: [ID] });
    clock.advanceBy(PLAN_AGE_MS_MAX);
    expect((await call("confirm_change", { plan_id: plan.plan_id })).isError).toBe(true);
    expect(begun(requests)).toEqual([]);
  });

  test("selects completed invocations for operations on completed ones, and no more than its limit", async () => {
    const { call, requests } = await agentOf(changeable, true);
    const { value: plan } = await call("plan_change", { operation: "restart", ids: [ID, OTHER_ID], limit: 1 });
    expect(plan).toMatchObject({ count: 1, more_match: true, invocations: [{ id: ID }], not_applicable: [OTHER_ID] });
    expect(statementOf(requests[0]!)).toContain("status = 'completed' AND id IN");
    expect(requests[1]!.body).toMatchObject({ operation: "restart-as-new", ids: [ID], dry_run: true });
  });

  test("needs a selection, and is not made when nothing matches", async () => {
    const { call } = await agentOf(rowsOf([]), true);
    const unselected = await call("plan_change", { operation: "purge" });
    expect([unselected.isError, unselected.value.error.message]).toEqual([true, "The plan selects no invocations"]);
    const { value } = await call("plan_change", { operation: "kill", ids: [ID] });
    expect(value).toEqual({ operation: "kill", count: 0, more_match: false, invocations: [], not_applicable: [ID] });
  });

  test("is refused when the API key may not execute it", async () => {
    const refusal = { status: 403, body: { message: "[PERD0201] no", restate_code: "PERD0201" } };
    const { call } = await agentOf((sent) => (sent.path === "/query" ? changeable(sent) : refusal), true);
    expect((await call("plan_change", { operation: "kill", ids: [ID] })).value.error.code).toBe("PERD0201");
  });
});
