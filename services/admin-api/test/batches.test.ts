/** Batches: what is refused, what is done and told, and what a process that dies in the middle leaves for the next one. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type BatchId, type InvocationId, newInvocationId, PerdureError, silentLogger, systemRandom } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import { createMemoryMetadataStore, emptyMemoryMetadata, type MemoryMetadata, type Registry } from "@perdure/metadata";
import type { Answer, Invocation, JournalEntry } from "@perdure/partition";
import { createTestRegistry } from "@perdure/registry/testing";
import { encodeNotification, MessageType, voidResult } from "@perdure/service-protocol";
import { VirtualClock } from "@perdure/testkit";
import { type Batches, openBatches, openSharedBatches, type SharedBatches } from "../src/batches/batches.js";
import { type BatchRecord, recordKey } from "../src/batches/record.js";
import type { InsightSource } from "../src/insight/source.js";
import {
  BATCH_CLEANUP_MS,
  BATCH_KEPT_MS,
  BATCH_LOOK_MS,
  BATCH_PAGE_IDS,
  BATCH_TRIES_MAX,
  BATCH_WORKERS_MAX,
  BATCHES_RUNNING_MAX,
} from "../src/limits.js";
import type { Sql, SqlAnswer } from "../src/ports.js";
import {
  anInvocation,
  createScriptedPartitions,
  createTestAdminApi,
  type ScriptedPartitions,
  startServer,
  type TestServer,
} from "../src/testing/index.js";

const GHOST = "bat_137ExtvrDynTaU6cLwjZoQ1";

interface View {
  readonly id: string;
  readonly state: string;
  readonly matched: number;
  readonly done: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly remaining: number;
  readonly [field: string]: unknown;
}
interface Result {
  readonly invocation_id: string;
  readonly result: string;
  readonly status: number;
  readonly error?: string;
  readonly new_invocation_id?: string;
}

let registry: Registry & RegistryView;
let clock: VirtualClock;
let memory: MemoryMetadata;
let partitions: ScriptedPartitions;
let journals: Map<string, JournalEntry[]>;
let statements: string[];
let sqlAnswer: (query: string) => SqlAnswer;
let batches: Batches;
let server: TestServer;

const insight: InsightSource = {
  partitionCount: 1,
  store: {
    reads: { invocation: () => undefined, lock: () => undefined, inbox: () => undefined },
    readJournal: async (_partition, id) => journals.get(id) ?? [],
    events: async () => [],
    flow: async () => ({ pauses: [] }),
  },
  invoker: { status: () => undefined, flowWait: () => undefined },
};

const sql: Sql = async (query) => {
  statements.push(query);
  return sqlAnswer(query);
};

function rowsOf(rows: readonly object[]): SqlAnswer {
  // In small pieces, so that ids are cut in the middle.
  const text = JSON.stringify({ rows });
  const chunks = Array.from({ length: Math.ceil(text.length / 50) }, (_, i) => Buffer.from(text.slice(i * 50, i * 50 + 50)));
  return {
    kind: "rows",
    chunks: (async function* () {
      yield* chunks;
    })(),
  };
}

const freshId = (n: number): InvocationId =>
  newInvocationId({ service: "Greeter", key: `k${n}`, handler: "greet" }, 1_000 + n, systemRandom);
const freshIds = (count: number): InvocationId[] => Array.from({ length: count }, (_, n) => freshId(n));

/** What a process with these documents and partitions does. */
async function openHere(): Promise<Batches> {
  return openBatches({
    registry,
    partitions,
    insight,
    clock,
    random: systemRandom,
    metadata: createMemoryMetadataStore(memory),
    logger: silentLogger,
  });
}

/** One of several processes with these documents. */
function openShared(): SharedBatches {
  const ports = { registry, partitions, insight, clock, random: systemRandom, logger: silentLogger };
  return openSharedBatches({ ...ports, metadata: createMemoryMetadataStore(memory) });
}

async function serveHere(): Promise<void> {
  batches = await openHere();
  server = await startServer(createTestAdminApi({ registry, partitions, sql, insight, batches }));
}

beforeEach(async () => {
  registry = await createTestRegistry();
  clock = new VirtualClock();
  memory = emptyMemoryMetadata();
  partitions = createScriptedPartitions();
  journals = new Map();
  statements = [];
  sqlAnswer = () => rowsOf([]);
  await serveHere();
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await batches[Symbol.asyncDispose]();
});

const begin = (body: object) => server.ask("POST", "/invocations/batch", body);
const view = async (id: string) => (await server.ask("GET", `/invocations/batches/${id}`)).json<View>();

async function untilOver(id: string): Promise<View> {
  for (let round = 0; round < 2_000; round++) {
    const found = await view(id);
    if (found.state !== "running") return found;
  }
  throw new Error("the batch does not end");
}

async function allResults(id: string): Promise<Result[]> {
  const results: Result[] = [];
  for (let cursor: string | null = "0"; cursor !== null; ) {
    const page: { results: Result[]; next_cursor: string | null } = (
      await server.ask("GET", `/invocations/batches/${id}/results?cursor=${cursor}`)
    ).json();
    results.push(...page.results);
    if (page.next_cursor === cursor) throw new Error("the batch is over, and its results are not");
    cursor = page.next_cursor;
  }
  return results;
}

describe("what is refused", () => {
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
      const answer = await begin(typeof body === "object" ? { ...body, dry_run } : (body as never));
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(why)]);
    }
    expect([statements, partitions.commands, memory.documents.size]).toEqual([[], [], 0]);
  });

  test.each([
    ["invalid", 400],
    ["busy", 429],
    ["unavailable", 503],
    ["failed", 500],
  ] as const)("a filter when SQL answers %s: %i", async (reason, status) => {
    sqlAnswer = () => ({ kind: "refused", reason, message: "so it is", retryAfterSeconds: reason === "busy" ? 3 : undefined });
    const answer = await begin({ operation: "kill", filter: "nonsense = 1" });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining("so it is")]);
    expect(answer.headers["retry-after"]).toBe(reason === "busy" ? "3" : undefined);
    expect(memory.documents.size).toBe(0);
  });

  test("unknown and malformed batches", async () => {
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/results"],
    ] as const) {
      const unknown = await server.ask(method, `/invocations/batches/${GHOST}${path}`);
      expect([unknown.status, unknown.json()]).toEqual([
        404,
        { message: `The requested batch '${GHOST}' does not exist`, restate_code: null },
      ]);
      expect((await server.ask(method, `/invocations/batches/bat_1${path}`)).status).toBe(400);
      expect((await server.ask(method, `/invocations/batches/${freshId(0)}${path}`)).status).toBe(400);
    }
    expect((await server.ask("GET", "/invocations/batch")).status).toBe(405);
    expect((await server.ask("GET", "/v4/invocations/batches")).json()).toEqual({ batches: [] });
  });
});

describe("a dry run", () => {
  test("counts and shows what would be done, and does nothing", async () => {
    sqlAnswer = (query) => (query.includes("count(*)") ? rowsOf([{ matched: 7 }]) : rowsOf([{ id: "a", status: "running" }]));
    const answer = await begin({ operation: "cancel", filter: "status = 'running'", dry_run: true, limit: 5 });
    expect([answer.status, answer.json()]).toEqual([
      200,
      { operation: "cancel", dry_run: true, matched: 5, more_matched: true, sample: [{ id: "a", status: "running" }] },
    ]);
    expect(statements.every((each) => each.includes("FROM sys_invocation WHERE (\nstatus = 'running'\n)"))).toBe(true);
    const [one, two] = [freshId(1), freshId(2)];
    expect((await begin({ operation: "kill", ids: [one, two, one], dry_run: true })).json()).toMatchObject({
      matched: 2,
      sample: [{ id: one }, { id: two }],
    });
    expect([partitions.commands, memory.documents.size]).toEqual([[], 0]);
  });
});

describe("a batch", () => {
  test("does what the single route does to each, and tells each result", async () => {
    const ids = freshIds(BATCH_PAGE_IDS + 40);
    const answers: readonly Answer["kind"][] = ["done", "alreadyCompleted", "notFound"];
    for (const [n, id] of ids.entries()) partitions.answers.set(id, { kind: answers[n % 3] as "done" });
    sqlAnswer = () => rowsOf(ids.map((id) => ({ id })));
    const filter = "target_service_name = 'A' and modified_at < now() - interval '1 hour'";
    const begun = await server.ask(
      "POST",
      "/v3/invocations/batch",
      { operation: "kill", filter, reason: "too many" },
      { "x-forwarded-user": "ann" },
    );
    expect(begun.status).toBe(202);
    const { id } = begun.json<View>();
    expect(begun.headers["location"]).toBe(`invocations/batches/${id}`);
    expect(begun.json()).toMatchObject({ operation: "kill", filter, matched: 290, started_by: "ann", reason: "too many" });
    expect(await untilOver(id)).toMatchObject({
      state: "finished",
      matched: 290,
      done: 290,
      succeeded: 97,
      failed: 193,
      remaining: 0,
      more_matched: false,
      finished_at: expect.any(String),
    });
    const results = await allResults(id);
    expect(results.map(({ invocation_id }) => invocation_id)).toEqual(ids);
    expect(results.slice(0, 3)).toEqual([
      { invocation_id: ids[0], result: "succeeded", status: 200 },
      { invocation_id: ids[1], result: "failed", status: 409, error: `The invocation '${ids[1]}' was already completed.` },
      { invocation_id: ids[2], result: "failed", status: 404, error: `The requested invocation '${ids[2]}' does not exist` },
    ]);
    expect(partitions.commands).toHaveLength(ids.length);
    expect((await server.ask("GET", "/invocations/batches")).json()).toMatchObject({ batches: [{ id, state: "finished" }] });
    for (const cursor of ["x", "-1", "1e3"]) {
      expect((await server.ask("GET", `/invocations/batches/${id}/results?cursor=${cursor}`)).status).toBe(400);
    }
    expect((await server.ask("GET", `/invocations/batches/${id}/results?cursor=99`)).json()).toEqual({
      results: [],
      next_cursor: null,
    });
  });

  test("takes no more than its limit, the oldest first, and says that there are more", async () => {
    const ids = freshIds(4);
    sqlAnswer = () => rowsOf(ids.map((id) => ({ id })));
    const { id } = (await begin({ operation: "purge", filter: "true", limit: 3 })).json<View>();
    expect(statements[0]).toContain("ORDER BY created_at, id LIMIT 4");
    expect(await untilOver(id)).toMatchObject({ matched: 3, more_matched: true });
    expect(partitions.commands.map((command) => command.id)).toEqual(ids.slice(0, 3));
  });

  test("of nothing is over at once", async () => {
    const { id } = (await begin({ operation: "purge", filter: "false" })).json<View>();
    expect(await untilOver(id)).toMatchObject({ state: "finished", matched: 0, remaining: 0 });
    expect(await allResults(id)).toEqual([]);
  });

  test("restarts under ids that it chose before, and resumes where it is told to", async () => {
    const ids = freshIds(2);
    partitions.answers.set("restartAsNew", { kind: "done" });
    const restarted = (await begin({ operation: "restart-as-new", ids })).json<View>();
    await untilOver(restarted.id);
    const results = await allResults(restarted.id);
    expect(partitions.commands).toEqual(
      results.map(({ invocation_id, new_invocation_id }) =>
        expect.objectContaining({ id: invocation_id, newId: new_invocation_id }),
      ),
    );
    partitions.answers.set("resume", { kind: "done" });
    const resumed = (await begin({ operation: "resume", ids, deployment: "Keep" })).json<View>();
    expect(await untilOver(resumed.id)).toMatchObject({ succeeded: 2, deployment: "keep" });
    // The newest first.
    const { batches: listed } = (await server.ask("GET", "/invocations/batches")).json<{ batches: View[] }>();
    expect(listed).toHaveLength(2);
  });

  test("waits for a partition that is away, and gives up on it in the end", async () => {
    const [patient, lost, broken] = freshIds(3) as [InvocationId, InvocationId, InvocationId];
    let tries = 0;
    const plain = partitions.submit;
    partitions.submit = async (command) => {
      if (command.id === broken) throw new Error("a bug");
      if (command.id === lost || ++tries < 3) throw new PerdureError("ING0006", "no leader");
      return plain(command);
    };
    partitions.answers.set(patient, { kind: "done" });
    partitions.invocations.set(patient, anInvocation(patient, "invoked", undefined));
    partitions.invocations.set(lost, anInvocation(lost, "invoked", undefined));
    const { id } = (await begin({ operation: "kill", ids: [patient, lost, broken] })).json<View>();
    for (let i = 0; i < BATCH_TRIES_MAX; i++) {
      await view(id);
      clock.advanceBy(60_000);
    }
    expect(await untilOver(id)).toMatchObject({ succeeded: 1, failed: 2 });
    const results = await allResults(id);
    expect(results.map(({ status }) => status)).toEqual([200, 503, 500]);
    expect(results[2]?.error).not.toContain("a bug");
  });

  test("keeps a few operations under way, never more", async () => {
    let open = 0;
    let most = 0;
    partitions.submit = async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
      return { kind: "done" };
    };
    const { id } = (await begin({ operation: "cancel", ids: freshIds(200) })).json<View>();
    await untilOver(id);
    expect(most).toBe(BATCH_WORKERS_MAX);
  });

  test("is one of a few; who comes later hears so", async () => {
    const gate = Promise.withResolvers<Answer>();
    partitions.submit = () => gate.promise;
    const begun = await Promise.all(
      Array.from({ length: BATCHES_RUNNING_MAX + 3 }, (_, n) => begin({ operation: "kill", ids: [freshId(n)] })),
    );
    expect(begun.map(({ status }) => status).sort()).toEqual([...Array(BATCHES_RUNNING_MAX).fill(202), 429, 429, 429]);
    gate.resolve({ kind: "done" });
    for (const answer of begun) if (answer.status === 202) await untilOver(answer.json<View>().id);
    expect((await begin({ operation: "kill", ids: [freshId(99)] })).status).toBe(202);
  });

  test("can be cancelled: what is under way is finished, the rest stays undone", async () => {
    const ids = freshIds(BATCH_PAGE_IDS * 2);
    const gates: ((answer: Answer) => void)[] = [];
    partitions.submit = (command) => {
      partitions.commands.push(command);
      return new Promise((resolve) => gates.push(resolve));
    };
    const { id } = (await begin({ operation: "kill", ids })).json<View>();
    while (gates.length < BATCH_WORKERS_MAX) await view(id);
    const cancelled = server.ask("DELETE", `/invocations/batches/${id}`);
    await view(id);
    for (const open of gates) open({ kind: "done" });
    expect((await cancelled).json()).toMatchObject({
      state: "cancelled",
      done: BATCH_WORKERS_MAX,
      remaining: 500 - BATCH_WORKERS_MAX,
    });
    expect(partitions.commands).toHaveLength(BATCH_WORKERS_MAX);
    expect(await allResults(id)).toHaveLength(BATCH_WORKERS_MAX);
    const again = await server.ask("DELETE", `/invocations/batches/${id}`);
    expect([again.status, again.json<View>().state]).toEqual([200, "cancelled"]);
    await batches[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await serveHere();
    expect(await view(id)).toMatchObject({ state: "cancelled", done: BATCH_WORKERS_MAX });
    expect(partitions.commands).toHaveLength(BATCH_WORKERS_MAX);
  });

  test("is forgotten a day after it is over", async () => {
    const { id } = (await begin({ operation: "kill", ids: freshIds(1) })).json<View>();
    await untilOver(id);
    clock.advanceBy(BATCH_KEPT_MS / 2);
    for (let i = 0; i < 20; i++) await view(id);
    expect(memory.documents.size).toBe(2);
    clock.advanceBy(BATCH_KEPT_MS);
    for (let i = 0; i < 50 && memory.documents.size > 0; i++) {
      clock.advanceBy(BATCH_CLEANUP_MS);
      await server.ask("GET", "/invocations/batches");
    }
    expect(memory.documents.size).toBe(0);
    expect((await server.ask("GET", `/invocations/batches/${id}`)).status).toBe(404);
  });
});

describe("a process that dies in the middle of a page", () => {
  /** Begins a batch of which some ids take effect, and none is written down; then another process takes over. */
  async function dieAfter(
    body: { operation: string; ids: readonly InvocationId[] },
    effective: number,
    effect: (id: InvocationId, newId?: InvocationId) => void,
  ) {
    const done = new Set<string>();
    const never = new Promise<Answer>(() => {});
    partitions.submit = (command) => {
      if (done.size < effective && "id" in command) {
        done.add(command.id);
        effect(command.id, command.kind === "restartAsNew" ? command.newId : undefined);
      }
      return never;
    };
    const { id } = (await begin(body)).json<View>();
    while (done.size < effective) await view(id);
    clock.advanceBy(1_000);
    const dead = { batches, server };
    const commands = createScriptedPartitions();
    for (const [key, value] of partitions.invocations) commands.invocations.set(key, value);
    commands.answers.set("kill", { kind: "done" }).set("cancel", { kind: "pending" }).set("purge", { kind: "done" });
    commands.answers.set("restartAsNew", { kind: "accepted" });
    partitions = commands;
    await dead.server[Symbol.asyncDispose](); // Its sockets, not its batches: those hang for ever, like their process.
    await serveHere();
    const over = await untilOver(id);
    return { done, over, results: await allResults(id), again: partitions.commands };
  }
  const ids = freshIds(10);
  const completedNow = (id: InvocationId): Invocation => ({
    ...anInvocation(id, "completed", undefined),
    modifiedAtMs: clock.nowMs(),
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: 0, completedAtMs: clock.nowMs() },
  });

  test("kills nobody twice, and counts those who are dead already as killed", async () => {
    for (const id of ids) partitions.invocations.set(id, anInvocation(id, "invoked", undefined));
    const { done, over, again } = await dieAfter({ operation: "kill", ids }, 6, (id) => {
      partitions.invocations.set(id, completedNow(id));
    });
    expect(over).toMatchObject({ state: "finished", succeeded: 10, failed: 0 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
  });

  test("who was over before the batch began is told so, now as then", async () => {
    const [early] = ids as [InvocationId];
    partitions.invocations.set(early, anInvocation(early, "completed", undefined));
    for (const id of ids.slice(1)) partitions.invocations.set(id, anInvocation(id, "invoked", undefined));
    const { again } = await dieAfter({ operation: "kill", ids }, 0, () => undefined);
    expect(again).toHaveLength(ids.length);
  });

  test("asks nobody twice to cancel", async () => {
    for (const id of ids) partitions.invocations.set(id, anInvocation(id, "invoked", undefined));
    const { done, over, again } = await dieAfter({ operation: "cancel", ids }, 6, (id) => {
      const body = encodeNotification({ kind: "signalIndex", index: 1 }, voidResult);
      journals.set(id, [{ type: MessageType.Signal, body, appendedAtMs: clock.nowMs() }]);
    });
    expect(over).toMatchObject({ succeeded: 10 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
  });

  test("purges what is left, and counts what is gone as purged", async () => {
    for (const id of ids) partitions.invocations.set(id, anInvocation(id, "completed", undefined));
    const { done, over, again } = await dieAfter({ operation: "purge", ids }, 6, (id) => partitions.invocations.delete(id));
    expect(over).toMatchObject({ succeeded: 10, failed: 0 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
  });

  test("makes no second copy of anybody", async () => {
    const copies = new Map<string, InvocationId>();
    const { done, over, results, again } = await dieAfter({ operation: "restart-as-new", ids }, 6, (id, newId) => {
      copies.set(id, newId as InvocationId);
      partitions.invocations.set(newId as string, anInvocation(newId as InvocationId, "invoked", undefined));
    });
    expect(over).toMatchObject({ succeeded: 10 });
    expect(again.map(({ id }) => id)).toEqual(ids.filter((id) => !done.has(id)));
    for (const { invocation_id, new_invocation_id } of results) {
      if (done.has(invocation_id)) expect(new_invocation_id).toBe(copies.get(invocation_id));
      else expect(new_invocation_id).toBeDefined();
    }
  });
});

test("two processes do not both go on: whoever wrote last does", async () => {
  const gates: ((answer: Answer) => void)[] = [];
  partitions.submit = () => new Promise((resolve) => gates.push(resolve));
  const { id } = (await begin({ operation: "pause", ids: freshIds(BATCH_PAGE_IDS + 1) })).json<View>();
  while (gates.length < BATCH_WORKERS_MAX) await view(id);
  const hung = [...gates];
  partitions.submit = async () => ({ kind: "pending" });
  await using other = await openHere();
  for (;;) if ((await other.get(id as never))?.state === "finished") break;
  const taken = partitions.commands.length;
  for (const open of hung) open({ kind: "pending" });
  expect(await untilOver(id)).toMatchObject({ state: "finished", done: BATCH_PAGE_IDS + 1, succeeded: BATCH_PAGE_IDS + 1 });
  expect(partitions.commands.length).toBe(taken);
});

describe("of two processes", () => {
  const killing = (ids: readonly InvocationId[]) =>
    ({
      operation: "kill",
      filter: undefined,
      ids,
      moreMatched: false,
      deployment: undefined,
      startedBy: undefined,
      reason: undefined,
    }) as const;
  const over = async (of: Batches, id: BatchId): Promise<BatchRecord> => {
    for (;;) {
      const record = await of.get(id);
      if (record !== undefined && record.state !== "running") return record;
    }
  };
  let leader: SharedBatches;
  let other: SharedBatches;
  let isSure: boolean;
  beforeEach(async () => {
    isSure = true;
    [leader, other] = [openShared(), openShared()];
    await leader.lead(() => isSure);
  });
  afterEach(async () => {
    await Promise.all([leader, other].map((each) => each[Symbol.asyncDispose]()));
  });

  test("one runs what the other begins, and both tell of it", async () => {
    partitions.answers.set("kill", { kind: "done" });
    const ids = freshIds(BATCH_PAGE_IDS + 5);
    const { id } = (await other.begin(killing(ids))) as BatchRecord;
    expect(await leader.get(id)).toMatchObject({ state: "running", succeeded: 0 });
    expect(partitions.commands).toEqual([]);
    await leader.look();
    expect(await over(other, id)).toMatchObject({ state: "finished", succeeded: ids.length });
    expect(partitions.commands).toHaveLength(ids.length);
    expect((await other.results(id, 0))?.results.map((each) => each.id)).toEqual(ids.slice(0, BATCH_PAGE_IDS));
    expect(await other.list()).toEqual(await leader.list());
  });

  test("one cancels what the other runs, and hears how far that had come", async () => {
    const gates: ((answer: Answer) => void)[] = [];
    partitions.submit = () => new Promise((resolve) => gates.push(resolve));
    const { id } = (await leader.begin(killing(freshIds(BATCH_PAGE_IDS * 2)))) as BatchRecord;
    while (gates.length < BATCH_WORKERS_MAX) await other.get(id);
    const cancelled = other.cancel(id);
    const store = createMemoryMetadataStore(memory);
    while ((await store.get(recordKey(id)))?.version === 1) await store.get("nothing");
    await leader.look();
    for (const open of gates) open({ kind: "done" });
    expect(await over(leader, id)).toMatchObject({ state: "cancelled", succeeded: BATCH_WORKERS_MAX });
    clock.advanceBy(BATCH_LOOK_MS);
    expect(await cancelled).toMatchObject({ state: "cancelled", succeeded: BATCH_WORKERS_MAX });
    expect((await other.results(id, 0))?.results).toHaveLength(BATCH_WORKERS_MAX);
  });

  test("one that no longer knows whether it leads begins nothing more, and the other goes on without doing anything twice", async () => {
    const done = new Map<string, number>();
    const stop = BATCH_WORKERS_MAX * 2;
    partitions.submit = async (command) => {
      const { id } = command as { id: InvocationId };
      done.set(id, (done.get(id) ?? 0) + 1);
      partitions.invocations.set(id, {
        ...anInvocation(id, "completed", undefined),
        milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: 0, completedAtMs: clock.nowMs() },
      });
      if (done.size >= stop) isSure = false;
      return { kind: "done" };
    };
    const ids = freshIds(BATCH_PAGE_IDS + 50);
    for (const each of ids) partitions.invocations.set(each, anInvocation(each, "invoked", undefined));
    const { id } = (await leader.begin(killing(ids))) as BatchRecord;
    while (done.size < stop) await other.get(id);
    for (let i = 0; i < 50; i++) await other.get(id);
    expect(done.size).toBeLessThan(stop + BATCH_WORKERS_MAX);
    await other.lead(() => true);
    expect(await over(other, id)).toMatchObject({ state: "finished", succeeded: ids.length });
    expect([...done.values()].every((times) => times === 1)).toBe(true);
    expect(done.size).toBe(ids.length);
  });

  test("together they run no more than one would", async () => {
    partitions.submit = () => new Promise(() => {});
    for (let n = 0; n < BATCHES_RUNNING_MAX; n++) expect(await other.begin(killing([freshId(n)]))).toBeDefined();
    expect(await other.begin(killing([freshId(50)]))).toBeUndefined();
    expect(await leader.begin(killing([freshId(51)]))).toBeUndefined();
    [leader, other] = [openShared(), openShared()]; // Those before hang for ever, like their process.
  });
});
