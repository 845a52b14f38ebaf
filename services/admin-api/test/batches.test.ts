/** Batches: refusals, operations, and answers about them. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type InvocationId, PerdureError } from "@perdure/base";
import type { CommandAnswer } from "@perdure/state-machine";
import {
  BATCH_CLEANUP_MS,
  BATCH_KEPT_MS,
  BATCH_PAGE_IDS,
  BATCH_TRIES_MAX,
  BATCH_WORKERS_MAX,
  BATCHES_RUNNING_MAX,
} from "../src/limits.js";
import { anInvocation } from "../src/testing/index.js";
import { freshId, freshIds, rowsOf, type View, World } from "./batches-world.js";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const GHOST = "bat_137ExtvrDynTaU6cLwjZoQ1";

describe("refusals", () => {
  const id = freshId(0);
  test.each<[string, unknown, number, string]>([
    ["no operation", { ids: [id] }, 422, "operation"],
    ["an unknown operation", { operation: "explode", ids: [id] }, 422, "operation"],
    ["nothing chosen", { operation: "kill" }, 422, "give `filter` or `ids`"],
    ["two choices", { operation: "kill", ids: [id], filter: "true" }, 422, "not both"],
    ["no ids", { operation: "kill", ids: [] }, 422, "ids"],
    ["a malformed id", { operation: "kill", ids: ["inv_bad"] }, 422, "codec version"],
    ["a misspelt dry run", { operation: "kill", ids: [id], dryrun: true }, 400, "unknown fields: 'dryrun'"],
    ["a limit of nothing", { operation: "kill", filter: "true", limit: 0 }, 422, "limit"],
    ["a limit without limit", { operation: "kill", filter: "true", limit: 1e9 }, 422, "limit"],
    ["a deployment to kill with", { operation: "kill", ids: [id], deployment: "latest" }, 422, "deployment"],
    ["a malformed deployment", { operation: "resume", ids: [id], deployment: "dp_1" }, 422, "bad length"],
    ["an empty filter", { operation: "kill", filter: "" }, 422, "filter"],
    ["a blank filter", { operation: "kill", filter: "  " }, 400, "empty"],
    ["a filter that closes the parenthesis", { operation: "kill", filter: "false) or (true" }, 400, "closes a parenthesis"],
    ["a comment", { operation: "kill", filter: "true --" }, 400, "comments"],
    ["a second statement", { operation: "kill", filter: "true; select 1" }, 400, "several statements"],
    ["another table", { operation: "kill", filter: "id in (select 1 from duckdb_settings())" }, 400, "sys_ tables"],
    ["no JSON", "{", 415, "application/json"],
  ])("%s", async (_what, body, status, why) => {
    for (const dry_run of [undefined, true]) {
      const answer = await world.begin(typeof body === "object" ? { ...body, dry_run } : (body as never));
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(why)]);
    }
    expect([world.statements, world.partitions.commands, world.memory.documents.size]).toEqual([[], [], 0]);
  });

  test.each([
    ["invalid", 400],
    ["busy", 429],
    ["unavailable", 503],
    ["failed", 500],
  ] as const)("a filter when SQL answers %s: %i", async (reason, status) => {
    world.sqlAnswer = () => ({
      kind: "refused",
      reason,
      message: "so it is",
      retryAfterSeconds: reason === "busy" ? 3 : undefined,
    });
    const answer = await world.begin({ operation: "kill", filter: "nonsense = 1" });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining("so it is")]);
    expect(answer.headers["retry-after"]).toBe(reason === "busy" ? "3" : undefined);
    expect(world.memory.documents.size).toBe(0);
  });

  test("unknown and malformed batches", async () => {
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/results"],
    ] as const) {
      const unknown = await world.server.send(method, `/invocations/batches/${GHOST}${path}`);
      expect([unknown.status, unknown.json()]).toEqual([
        404,
        { message: `The requested batch '${GHOST}' does not exist`, restate_code: null },
      ]);
      expect((await world.server.send(method, `/invocations/batches/bat_1${path}`)).status).toBe(400);
      expect((await world.server.send(method, `/invocations/batches/${freshId(0)}${path}`)).status).toBe(400);
    }
    expect((await world.server.send("GET", "/invocations/batch")).status).toBe(405);
    expect((await world.server.send("GET", "/v4/invocations/batches")).json()).toEqual({ batches: [] });
  });
});

describe("a dry run", () => {
  test("counts and shows the matching invocations, and changes nothing", async () => {
    world.sqlAnswer = (query) =>
      query.includes("count(*)") ? rowsOf([{ matched: 7 }]) : rowsOf([{ id: "a", status: "running" }]);
    const answer = await world.begin({ operation: "cancel", filter: "status = 'running'", dry_run: true, limit: 5 });
    expect([answer.status, answer.json()]).toEqual([
      200,
      { operation: "cancel", dry_run: true, matched: 5, more_matched: true, sample: [{ id: "a", status: "running" }] },
    ]);
    expect(world.statements.every((each) => each.includes("FROM sys_invocation WHERE (\nstatus = 'running'\n)"))).toBe(true);
    const [one, two] = [freshId(1), freshId(2)];
    expect((await world.begin({ operation: "kill", ids: [one, two, one], dry_run: true })).json()).toMatchObject({
      matched: 2,
      sample: [{ id: one }, { id: two }],
    });
    expect([world.partitions.commands, world.memory.documents.size]).toEqual([[], 0]);
  });
});

describe("a batch", () => {
  test("applies the operation of the single route to each invocation, and returns each result", async () => {
    const ids = freshIds(BATCH_PAGE_IDS + 40);
    const answers: readonly CommandAnswer["kind"][] = ["done", "alreadyCompleted", "notFound"];
    for (const [n, id] of ids.entries()) world.partitions.answers.set(id, { kind: answers[n % 3] as "done" });
    world.sqlAnswer = () => rowsOf(ids.map((id) => ({ id })));
    const filter = "target_service_name = 'A' and modified_at < now() - interval '1 hour'";
    const begun = await world.server.send(
      "POST",
      "/v3/invocations/batch",
      { operation: "kill", filter, reason: "too many" },
      { "x-forwarded-user": "ann" },
    );
    expect(begun.status).toBe(202);
    const { id } = begun.json<View>();
    expect(begun.headers["location"]).toBe(`invocations/batches/${id}`);
    expect(begun.json()).toMatchObject({ operation: "kill", filter, matched: 290, started_by: "ann", reason: "too many" });
    expect(await world.untilOver(id)).toMatchObject({
      state: "finished",
      matched: 290,
      done: 290,
      succeeded: 97,
      failed: 193,
      remaining: 0,
      more_matched: false,
      finished_at: expect.any(String),
    });
    const results = await world.allResults(id);
    expect(results.map(({ invocation_id }) => invocation_id)).toEqual(ids);
    expect(results.slice(0, 3)).toEqual([
      { invocation_id: ids[0], result: "succeeded", status: 200 },
      { invocation_id: ids[1], result: "failed", status: 409, error: `The invocation '${ids[1]}' was already completed.` },
      { invocation_id: ids[2], result: "failed", status: 404, error: `The requested invocation '${ids[2]}' does not exist` },
    ]);
    expect(world.partitions.commands).toHaveLength(ids.length);
    expect((await world.server.send("GET", "/invocations/batches")).json()).toMatchObject({
      batches: [{ id, state: "finished" }],
    });
    for (const cursor of ["x", "-1", "1e3"]) {
      expect((await world.server.send("GET", `/invocations/batches/${id}/results?cursor=${cursor}`)).status).toBe(400);
    }
    expect((await world.server.send("GET", `/invocations/batches/${id}/results?cursor=99`)).json()).toEqual({
      results: [],
      next_cursor: null,
    });
  });

  test("takes no more than its limit, the oldest first, and reports that there are more", async () => {
    const ids = freshIds(4);
    world.sqlAnswer = () => rowsOf(ids.map((id) => ({ id })));
    const { id } = (await world.begin({ operation: "purge", filter: "true", limit: 3 })).json<View>();
    expect(world.statements[0]).toContain("ORDER BY created_at, id LIMIT 4");
    expect(await world.untilOver(id)).toMatchObject({ matched: 3, more_matched: true });
    expect(world.partitions.commands.map((command) => command.id)).toEqual(ids.slice(0, 3));
  });

  test("without invocations ends at once", async () => {
    const { id } = (await world.begin({ operation: "purge", filter: "false" })).json<View>();
    expect(await world.untilOver(id)).toMatchObject({ state: "finished", matched: 0, remaining: 0 });
    expect(await world.allResults(id)).toEqual([]);
  });

  test("restarts under ids chosen in advance, and resumes on the given deployment", async () => {
    const ids = freshIds(2);
    world.partitions.answers.set("restartAsNew", { kind: "done" });
    const restarted = (await world.begin({ operation: "restart-as-new", ids })).json<View>();
    await world.untilOver(restarted.id);
    const results = await world.allResults(restarted.id);
    expect(world.partitions.commands).toEqual(
      results.map(({ invocation_id, new_invocation_id }) =>
        expect.objectContaining({ id: invocation_id, newId: new_invocation_id }),
      ),
    );
    world.partitions.answers.set("resume", { kind: "done" });
    const resumed = (await world.begin({ operation: "resume", ids, deployment: "Keep" })).json<View>();
    expect(await world.untilOver(resumed.id)).toMatchObject({ succeeded: 2, deployment: "keep" });
    // Newest first.
    const { batches: listed } = (await world.server.send("GET", "/invocations/batches")).json<{ batches: View[] }>();
    expect(listed).toHaveLength(2);
  });

  test("waits for an unavailable partition, and gives up on it in the end", async () => {
    const [patient, lost, broken] = freshIds(3) as [InvocationId, InvocationId, InvocationId];
    let tries = 0;
    const plain = world.partitions.submit;
    world.partitions.submit = async (command) => {
      if (command.id === broken) throw new Error("a bug");
      if (command.id === lost || ++tries < 3) throw new PerdureError("ING0006", "no leader");
      return plain(command);
    };
    world.partitions.answers.set(patient, { kind: "done" });
    world.partitions.invocations.set(patient, anInvocation(patient, "invoked", undefined));
    world.partitions.invocations.set(lost, anInvocation(lost, "invoked", undefined));
    const { id } = (await world.begin({ operation: "kill", ids: [patient, lost, broken] })).json<View>();
    for (let i = 0; i < BATCH_TRIES_MAX; i++) {
      await world.view(id);
      world.clock.advanceBy(60_000);
    }
    expect(await world.untilOver(id)).toMatchObject({ succeeded: 1, failed: 2 });
    const results = await world.allResults(id);
    expect(results.map(({ status }) => status)).toEqual([200, 503, 500]);
    expect(results[2]?.error).not.toContain("a bug");
  });

  test("keeps a bounded number of operations in progress", async () => {
    let open = 0;
    let most = 0;
    world.partitions.submit = async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
      return { kind: "done" };
    };
    const { id } = (await world.begin({ operation: "cancel", ids: freshIds(200) })).json<View>();
    await world.untilOver(id);
    expect(most).toBe(BATCH_WORKERS_MAX);
  });

  test("is one of a bounded number; further ones are refused", async () => {
    const gate = Promise.withResolvers<CommandAnswer>();
    world.partitions.submit = () => gate.promise;
    const begun = await Promise.all(
      Array.from({ length: BATCHES_RUNNING_MAX + 3 }, (_, n) => world.begin({ operation: "kill", ids: [freshId(n)] })),
    );
    expect(begun.map(({ status }) => status).sort()).toEqual([...Array(BATCHES_RUNNING_MAX).fill(202), 429, 429, 429]);
    gate.resolve({ kind: "done" });
    for (const answer of begun) if (answer.status === 202) await world.untilOver(answer.json<View>().id);
    expect((await world.begin({ operation: "kill", ids: [freshId(99)] })).status).toBe(202);
  });

  test("can be cancelled: operations in progress finish, the rest is not begun", async () => {
    const ids = freshIds(BATCH_PAGE_IDS * 2);
    const gates: ((answer: CommandAnswer) => void)[] = [];
    world.partitions.submit = (command) => {
      world.partitions.commands.push(command);
      return new Promise((resolve) => gates.push(resolve));
    };
    const { id } = (await world.begin({ operation: "kill", ids })).json<View>();
    while (gates.length < BATCH_WORKERS_MAX) await world.view(id);
    const cancelled = world.server.send("DELETE", `/invocations/batches/${id}`);
    await world.view(id);
    for (const open of gates) open({ kind: "done" });
    expect((await cancelled).json()).toMatchObject({
      state: "cancelled",
      done: BATCH_WORKERS_MAX,
      remaining: 500 - BATCH_WORKERS_MAX,
    });
    expect(world.partitions.commands).toHaveLength(BATCH_WORKERS_MAX);
    expect(await world.allResults(id)).toHaveLength(BATCH_WORKERS_MAX);
    const again = await world.server.send("DELETE", `/invocations/batches/${id}`);
    expect([again.status, again.json<View>().state]).toEqual([200, "cancelled"]);
    await world.batches[Symbol.asyncDispose]();
    await world.server[Symbol.asyncDispose]();
    await world.serve();
    expect(await world.view(id)).toMatchObject({ state: "cancelled", done: BATCH_WORKERS_MAX });
    expect(world.partitions.commands).toHaveLength(BATCH_WORKERS_MAX);
  });

  test("is deleted a day after its end", async () => {
    const { id } = (await world.begin({ operation: "kill", ids: freshIds(1) })).json<View>();
    await world.untilOver(id);
    world.clock.advanceBy(BATCH_KEPT_MS / 2);
    for (let i = 0; i < 20; i++) await world.view(id);
    expect(world.memory.documents.size).toBe(2);
    world.clock.advanceBy(BATCH_KEPT_MS);
    for (let i = 0; i < 50 && world.memory.documents.size > 0; i++) {
      world.clock.advanceBy(BATCH_CLEANUP_MS);
      await world.server.send("GET", "/invocations/batches");
    }
    expect(world.memory.documents.size).toBe(0);
    expect((await world.server.send("GET", `/invocations/batches/${id}`)).status).toBe(404);
  });
});
