/** Invocations that are killed in bulk and restored end like those that nothing happened to; the server is killed during both. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, probe, TestWorld } from "../src/index.js";
import { awakeableOf, isReady, stepOf, undoServices } from "../src/services/undo.js";

/** Less than 40 s of processor time. `UNDO_COUNT=10000` for the whole measure. */
const COUNT = Number(process.env["UNDO_COUNT"] ?? 1_400);
const SENDERS = 32;
const WHOLE_TEST_MS = 120_000 + COUNT * 120;
/** Sleeps of most invocations end after kill and undo, those of some in between. */
const LONG_SLEEP_MS = 12_000 + COUNT * 10;
const KEYS = 40;
const RELEASED = "released";

interface Operation {
  readonly id: string;
  readonly state: string;
  readonly undo_left_ms: number;
  readonly undo: { readonly undone: number; readonly failed: number; readonly cannot_be_undone: readonly string[] } | null;
}
interface Batch {
  readonly id: string;
  readonly state: string;
  readonly matched: number;
  readonly done: number;
  readonly succeeded: number;
  readonly operation_id: string;
}

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "undo.window": "1h" } });
  await world.deploy({ services: undoServices });
});
afterAll(() => world[Symbol.asyncDispose]());

const counted = async (where: string): Promise<number> =>
  Number((await world.admin.query(`SELECT count(*) AS n FROM sys_invocation WHERE ${where}`))[0]?.["n"]);
const batchOf = async (id: string) => (await world.admin.get(`/invocations/batches/${id}`)).json as Batch;
const operationOf = async (id: string) => (await world.admin.get(`/operations/${id}`)).json as Operation;
const rowOf = async (id: string) =>
  (await world.admin.query(`SELECT filter, batch_id, state, matched, undone, failed FROM sys_operation WHERE id = '${id}'`))[0];
const undo = (id: string) => world.admin.http.request("POST", `/operations/${id}/undo`);

async function change(verb: "kill" | "pause" | "resume", id: string): Promise<string> {
  const answer = await world.admin.http.request("PATCH", `/invocations/${id}/${verb}`);
  expect(answer.status).toBe(verb === "pause" ? 202 : 200);
  return answer.headers["x-perdure-operation"] as string;
}
const kill = (id: string) => change("kill", id);

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: SENDERS }, worker));
}

/** Kills the server while the batch is in the middle; false when the batch was too fast for that. */
async function crashInTheMiddle(batchId: string): Promise<boolean> {
  for (;;) {
    const { done, matched, state } = await batchOf(batchId);
    if (state !== "running") return false;
    if (done > 0 && done < matched) break;
  }
  await world.server.kill();
  await world.server.startAgain();
  return true;
}

const untilBatchIsOver = (id: string) => eventually(`the end of ${id}`, async () => (await batchOf(id)).state !== "running");

describe("one invocation", () => {
  test("that is killed names its operation, is restored by it, and ends as if nothing had happened", async () => {
    const job = { name: "one", key: "one", sleepMs: LONG_SLEEP_MS };
    const { invocationId } = await world.ingress.send(["UndoJobs", "waits"], job, { idempotencyKey: "one" });
    await eventually("its awakeable", () => probe.get(awakeableOf("one")) !== undefined);
    await eventually("its suspension", async () => (await counted(`id = '${invocationId}' AND status = 'suspended'`)) === 1);
    const operation = await kill(invocationId);
    expect(await operationOf(operation)).toMatchObject({ state: "undoable", invocation_id: invocationId, operation: "kill" });
    await world.ingress.resolveAwakeable(probe.get(awakeableOf("one")) as string, RELEASED);

    const undone = await undo(operation);
    expect([undone.status, undone.json]).toEqual([200, expect.objectContaining({ state: "undone", undo_left_ms: 0 })]);
    expect(
      await world.admin.query(`SELECT operation, target, state, matched, undone FROM sys_operation WHERE id = '${operation}'`),
    ).toEqual([{ operation: "kill", target: invocationId, state: "undone", matched: 1, undone: 1 }]);
    expect((undone.json as Operation).undo).toMatchObject({
      undone: 1,
      failed: 0,
      cannot_be_undone: [expect.stringContaining(invocationId)],
    });
    expect(await world.ingress.outcome(invocationId)).toEqual(["first of one", RELEASED, "second of one"]);
    expect([probe.count(stepOf("one", "first")), probe.count(stepOf("one", "second"))]).toEqual([1, 1]);
    const again = await undo(operation);
    expect([again.status, again.json]).toEqual([200, undone.json]);
  });

  test("that is purged is there again, after a restart of the server too", async () => {
    const { invocationId } = await world.ingress.send(["UndoObject", "k", "count"], undefined, { idempotencyKey: "purged" });
    expect(await world.ingress.outcome(invocationId)).toBe(0);
    const [before] = await world.admin.query(`SELECT * FROM sys_invocation WHERE id = '${invocationId}'`);
    const answer = await world.admin.http.request("PATCH", `/invocations/${invocationId}/purge`);
    const operation = answer.headers["x-perdure-operation"] as string;
    expect(await counted(`id = '${invocationId}'`)).toBe(0);
    await world.server.kill();
    await world.server.startAgain();
    expect((await undo(operation)).json).toMatchObject({ state: "undone", undo: { cannot_be_undone: [] } });
    expect(await world.admin.query(`SELECT * FROM sys_invocation WHERE id = '${invocationId}'`)).toEqual([before]);
    expect(await world.admin.query("SELECT * FROM state WHERE service_name LIKE ':%'")).toEqual([]);
  });

  test("whose id was used again is a conflict; unknown and malformed operations are refused", async () => {
    const job = { name: "again", key: "again", sleepMs: LONG_SLEEP_MS };
    const { invocationId } = await world.ingress.send(["UndoJobs", "sleeps"], job, { idempotencyKey: "again" });
    const operation = await kill(invocationId);
    expect((await world.admin.http.request("PATCH", `/invocations/${invocationId}/purge`)).status).toBe(200);
    const next = await world.ingress.send(["UndoJobs", "sleeps"], job, { idempotencyKey: "again" });
    expect(next.invocationId).toBe(invocationId);
    const refused = await undo(operation);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("OPS0009")]);
    expect((await undo("op_15ChR1PDwZt22Rn2lfZrRo5")).status).toBe(404);
    expect((await undo("op_1")).status).toBe(400);
    await kill(invocationId);
  });

  test("that is paused runs again when the pause is undone, and is paused again when a resumption is; kill -9 in between", async () => {
    const job = { name: "paused", key: "paused", sleepMs: 1 };
    const { invocationId } = await world.ingress.send(["UndoJobs", "retries"], job, { idempotencyKey: "paused" });
    const isIn = (status: string) =>
      eventually(status, async () => (await counted(`id = '${invocationId}' AND status = '${status}'`)) === 1);
    await isIn("backing-off");
    const paused = await change("pause", invocationId);
    await isIn("paused");
    expect(await rowOf(paused)).toMatchObject({ state: "undoable", matched: 1 });
    await world.server.kill();
    await world.server.startAgain();
    expect((await undo(paused)).json).toMatchObject({ state: "undone", operation: "pause", undo: { undone: 1, failed: 0 } });
    await isIn("backing-off");

    await change("pause", invocationId);
    await isIn("paused");
    const resumed = await change("resume", invocationId);
    await isIn("backing-off");
    expect((await undo(resumed)).json).toMatchObject({ state: "undone", operation: "resume", undo: { undone: 1 } });
    await isIn("paused");
    probe.put(isReady("paused"), true);
    await change("resume", invocationId);
    expect(await world.ingress.outcome(invocationId)).toEqual(["first of paused", "second of paused"]);
    expect([probe.count(stepOf("paused", "first")), probe.count(stepOf("paused", "second"))]).toEqual([1, 1]);
    const again = await undo(resumed);
    expect([again.status, again.json]).toEqual([200, expect.objectContaining({ state: "undone" })]);
  });

  test("many that a batch paused run again, and those that were suspended are left out", async () => {
    const names = ["many-0", "many-1", "many-2"];
    const ids: string[] = [];
    for (const name of names) {
      const job = { name, key: name, sleepMs: LONG_SLEEP_MS };
      ids.push((await world.ingress.send(["UndoJobs", "retries"], job, { idempotencyKey: name })).invocationId);
    }
    const asleep = await world.ingress.send(["UndoJobs", "sleeps"], { name: "asleep", key: "asleep", sleepMs: LONG_SLEEP_MS });
    await eventually("its sleep", async () => (await counted(`id = '${asleep.invocationId}' AND status = 'suspended'`)) === 1);
    const among = `id IN (${ids.map((id) => `'${id}'`).join(", ")})`;
    await eventually("failures", async () => (await counted(`${among} AND status = 'backing-off'`)) === 3);
    const body = { operation: "pause", ids: [...ids, asleep.invocationId] };
    const { id } = (await world.admin.post("/invocations/batch", body)).json as Batch;
    await untilBatchIsOver(id);
    await eventually("their pause", async () => (await counted(`${among} AND status = 'paused'`)) === 3);
    const { operation_id: operation } = await batchOf(id);
    expect((await undo(operation)).status).toBe(202);
    await eventually("the undo", async () => (await operationOf(operation)).state === "undone");
    expect((await operationOf(operation)).undo).toMatchObject({ undone: 3, failed: 0 });
    for (const name of names) probe.put(isReady(name), true);
    for (const [index, each] of ids.entries())
      expect(await world.ingress.outcome(each)).toEqual([`first of ${names[index]}`, `second of ${names[index]}`]);
    await kill(asleep.invocationId);
  });

  test("an operation that changed nothing is not kept", async () => {
    const { operations: before } = (await world.admin.get("/operations")).json as { operations: Operation[] };
    const answer = await world.admin.http.request("PATCH", "/invocations/inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx/kill");
    expect([answer.status, answer.headers["x-perdure-operation"]]).toEqual([404, undefined]);
    expect((await world.admin.get("/operations")).json).toMatchObject({ operations: before.map(({ id }) => ({ id })) });
  });
});

describe("a restart", () => {
  /** A completed invocation; a copy of it waits for an awakeable. */
  async function completed(name: string): Promise<string> {
    const { invocationId: id } = await world.ingress.send(
      ["UndoJobs", "waits"],
      { name, key: name, sleepMs: 0 },
      { idempotencyKey: name },
    );
    await release(name);
    await world.ingress.outcome(id);
    probe.put(awakeableOf(name), undefined);
    return id;
  }
  const isWaiting = (name: string) => eventually("its awakeable", () => probe.get(awakeableOf(name)) !== undefined);
  async function release(name: string): Promise<void> {
    await isWaiting(name);
    await world.ingress.resolveAwakeable(probe.get(awakeableOf(name)) as string, RELEASED);
  }
  async function restart(id: string): Promise<{ readonly copy: string; readonly operation: string }> {
    const answer = await world.admin.http.request("PATCH", `/invocations/${id}/restart-as-new`);
    expect(answer.status).toBe(200);
    const copy = (JSON.parse(answer.text) as { readonly new_invocation_id: string }).new_invocation_id;
    return { copy, operation: answer.headers["x-perdure-operation"] as string };
  }
  const endOf = async (id: string) =>
    (await world.admin.query(`SELECT status, completion_failure FROM sys_invocation WHERE id = '${id}'`))[0];
  const KILLED = { status: "completed", completion_failure: expect.stringContaining("killed") };

  test("is undone by ending the copy, once, and leaves the source", async () => {
    const id = await completed("restarted");
    const { copy, operation } = await restart(id);
    await isWaiting("restarted");
    expect((await operationOf(operation)).state).toBe("undoable");
    expect((await undo(operation)).status).toBe(200);
    expect((await operationOf(operation)).undo).toMatchObject({
      undone: 1,
      failed: 0,
      cannot_be_undone: [expect.stringContaining(`What ${copy} did before`)],
    });
    expect(await endOf(copy)).toMatchObject(KILLED);
    expect((await undo(operation)).status).toBe(200);
    expect(await world.ingress.outcome(id)).toEqual(outcomeOf("waits", "restarted"));
  });

  test("whose copy has ended by itself is refused", async () => {
    const { copy, operation } = await restart(await completed("ended"));
    await release("ended");
    await world.ingress.outcome(copy);
    const answer = await undo(operation);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      409,
      expect.objectContaining({ message: expect.stringContaining("has ended already") }),
    ]);
  });

  test("of many by a batch ends the copies that have not ended", async () => {
    const names = ["batch-0", "batch-1", "batch-2"];
    const ids: string[] = [];
    for (const name of names) ids.push(await completed(name));
    const { id } = (await world.admin.post("/invocations/batch", { operation: "restart-as-new", ids })).json as Batch;
    await untilBatchIsOver(id);
    for (const name of names) await isWaiting(name);
    await release("batch-1");
    const copiesOf = (status: string) =>
      counted(`status = '${status}' AND restarted_from IN (${ids.map((each) => `'${each}'`).join(", ")})`);
    await eventually("one copy's end", async () => (await copiesOf("completed")) === 1);
    const { operation_id: operation } = await batchOf(id);
    expect((await undo(operation)).status).toBe(202);
    await eventually("the undo", async () => (await operationOf(operation)).state === "undone");
    expect((await operationOf(operation)).undo).toMatchObject({
      undone: 2,
      failed: 1,
      cannot_be_undone: ["What the new invocations did before they were ended stays."],
    });
    expect(await copiesOf("completed")).toBe(3);
  });
});

type Kind = "sleeps" | "brief" | "waits" | "calls" | "delayed" | "workflow";
const KINDS: readonly Kind[] = ["sleeps", "brief", "waits", "calls", "delayed", "workflow"];

interface Sent {
  readonly kind: Kind;
  readonly name: string;
  readonly id: string;
  /** Time from which it may end by itself. */
  readonly endsAtMs: number;
}

/** One invocation of a kind; those of the control group have objects of their own. */
async function send(group: string, n: number, longMs: number): Promise<Sent> {
  const kind = KINDS[n % KINDS.length] as Kind;
  const name = `${group}-${n}`;
  const sleepMs = kind === "brief" ? 2_000 : kind === "calls" ? 50 : longMs;
  const job = { name, key: `${group}-${n % KEYS}`, sleepMs };
  const waits = kind === "workflow" || kind === "waits" || kind === "calls";
  const endsAtMs = waits ? Number.POSITIVE_INFINITY : Date.now() + sleepMs;
  if (kind === "workflow")
    return { kind, name, endsAtMs, id: (await world.ingress.send(["UndoWorkflow", name, "run"], job)).invocationId };
  const handler = kind === "waits" || kind === "calls" ? kind : "sleeps";
  const delay = kind === "delayed" ? { delay: `${longMs}ms` } : {};
  const options = { idempotencyKey: name, ...delay };
  const sent = await world.ingress.send(["UndoJobs", handler], kind === "delayed" ? { ...job, sleepMs: 1 } : job, options);
  return { kind, name, endsAtMs, id: sent.invocationId };
}

const isStarted = ({ kind, name }: Sent) => kind === "delayed" || probe.count(stepOf(name, "first")) > 0;

/** Kills what the filter chooses and undoes it; the server is killed in the middle of each, unless one is over before that. */
async function killAndRestore(filter: string, all: readonly Sent[]) {
  const begun = (await world.admin.post("/invocations/batch", { operation: "kill", filter, reason: "a mistake" })).json as Batch;
  const hasCrashedInKill = await crashInTheMiddle(begun.id);
  await untilBatchIsOver(begun.id);
  const killed = await batchOf(begun.id);
  // A sleep may have ended between the selection and the kill; everything else was killed.
  const killedAtMs = Date.now();
  const mayEnd = new Set(all.filter(({ endsAtMs }) => endsAtMs <= killedAtMs).map(({ id }) => id));
  expect((await failuresOf(begun.id)).filter((id) => !mayEnd.has(id))).toEqual([]);
  expect(await counted("status <> 'completed' AND idempotency_key LIKE 'killed-%'")).toBe(0);

  const operation = killed.operation_id;
  expect(await rowOf(operation)).toEqual({ filter, batch_id: begun.id, state: "undoable", matched: begun.matched });
  expect((await undo(operation)).status).toBe(202);
  const undoing = (await operationOf(operation)) as Operation & { undo: { batch_id: string } };
  const hasCrashedInUndo = await crashInTheMiddle(undoing.undo.batch_id);
  await eventually("the end of the undo", async () => (await operationOf(operation)).state === "undone");
  expect((await operationOf(operation)).undo).toMatchObject({ undone: killed.succeeded, failed: 0 });
  const undoneAtMs = Date.now();
  expect((await undo(operation)).status).toBe(200);
  expect(await rowOf(operation)).toMatchObject({ state: "undone", undone: killed.succeeded, failed: 0 });
  return { hasCrashedInKill, hasCrashedInUndo, undoneAtMs };
}

test(
  `${COUNT} mixed invocations that are killed in bulk and restored end like their twins`,
  async () => {
    // One invocation holds each object, so that the calls of the others wait in its queue until the undo is over.
    const holders = ["killed", "control"].flatMap((group) => Array.from({ length: KEYS }, (_, key) => `${group}-${key}`));
    for (const key of holders) await world.ingress.send(["UndoObject", key, "block"], { name: `holder ${key}`, key, sleepMs: 0 });
    await eventually("every holder", () => holders.every((key) => probe.get(awakeableOf(`holder ${key}`)) !== undefined));
    const sent: Record<string, Sent[]> = { killed: [], control: [] };
    const numbers = Array.from({ length: COUNT }, (_, n) => n);
    const sinceMs = Date.now();
    let sentCount = 0;
    await inParallel(numbers, async (n) => {
      // On a busy machine sleeps are longer: they must end after kill and undo, which take about as long as sending.
      const longMs = Math.round(Math.max(LONG_SLEEP_MS, (3 * COUNT * (Date.now() - sinceMs)) / Math.max(sentCount, SENDERS)));
      for (const group of ["killed", "control"]) sent[group]?.push(await send(group, n, longMs));
      sentCount++;
    });
    const all = [...(sent["killed"] ?? []), ...(sent["control"] ?? [])];
    await eventually("every first step", () => all.every(isStarted));
    await eventually("that none runs", async () => (await counted("status IN ('running', 'ready', 'backing-off')")) === 0);

    const filter =
      "status <> 'completed' AND (idempotency_key LIKE 'killed-%' OR (target_service_name = 'UndoWorkflow' AND target_service_key LIKE 'killed-%'))";
    // Both batches are met in the middle; one that was over before this process read its state is repeated.
    let [undoneAtMs, hasCrashedInKill, hasCrashedInUndo] = [0, false, false];
    do {
      const round = await killAndRestore(filter, all);
      undoneAtMs = round.undoneAtMs;
      hasCrashedInKill ||= round.hasCrashedInKill;
      hasCrashedInUndo ||= round.hasCrashedInUndo;
    } while (!hasCrashedInKill || !hasCrashedInUndo);

    for (const key of holders) await world.ingress.resolveAwakeable(probe.get(awakeableOf(`holder ${key}`)) as string, RELEASED);
    await inParallel(all, async ({ kind, name, id }) => {
      if (kind === "waits") await world.ingress.resolveAwakeable(probe.get(awakeableOf(name)) as string, RELEASED);
      if (kind === "workflow") await world.ingress.result(["UndoWorkflow", name, "release"], RELEASED);
      expect([name, await world.ingress.outcome(id, WHOLE_TEST_MS)]).toEqual([name, outcomeOf(kind, name)]);
    });
    // A sleep that ended while the server was killed may have begun its second step twice: no server can prevent that.
    const twice = all.filter(
      ({ name, endsAtMs }) => probe.count(stepOf(name, "first")) !== 1 || (endsAtMs > undoneAtMs && countOf(name) > 1),
    );
    expect(twice).toEqual([]);
    for (let key = 0; key < KEYS; key++) {
      const sums = ["killed", "control"].map((group) => world.ingress.result<number>(["UndoObject", `${group}-${key}`, "count"]));
      const [ofKilled, ofControl] = await Promise.all(sums);
      expect(ofKilled).toBe(ofControl);
    }
  },
  WHOLE_TEST_MS,
);

async function failuresOf(batchId: string): Promise<readonly string[]> {
  const failed: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor === "" ? "" : `?cursor=${cursor}`;
    const page = (await world.admin.get(`/invocations/batches/${batchId}/results${query}`)).json as {
      results: { invocation_id: string; result: string }[];
      next_cursor: string | null;
    };
    failed.push(...page.results.filter(({ result }) => result === "failed").map(({ invocation_id: id }) => id));
    cursor = page.next_cursor;
  }
  return failed;
}

const countOf = (name: string): number => probe.count(stepOf(name, "second"));

function outcomeOf(kind: Kind, name: string): unknown {
  const [first, second] = [`first of ${name}`, `second of ${name}`];
  if (kind === "workflow") return `${name} ${RELEASED}`;
  return kind === "waits" ? [first, RELEASED, second] : kind === "calls" ? [first, name, second] : [first, second];
}
