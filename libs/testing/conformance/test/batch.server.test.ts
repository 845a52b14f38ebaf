/** One request for many invocations, against a real server; and a server that is killed in the middle of it. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, probe, TestWorld } from "../src/index.js";
import { cancellationsOf, crowdService } from "../src/services/crowd.js";

/** Enough that a batch takes a while, few enough that sending them does not. */
const CROWD = 600;
const SENDERS = 32;
const WHOLE_TEST_MS = 120_000;

interface View {
  readonly id: string;
  readonly operation: string;
  readonly state: string;
  readonly matched: number;
  readonly done: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly remaining: number;
  readonly started_by: string | null;
}
interface Result {
  readonly invocation_id: string;
  readonly result: string;
  readonly status: number;
  readonly error?: string;
  readonly new_invocation_id?: string;
}

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start();
  await world.deploy({ services: [crowdService] });
});
afterAll(() => world[Symbol.asyncDispose]());

/** Sends `count` invocations of a handler; their names are `tag-0`, `tag-1`, …, and so are their idempotency keys. */
async function crowd(handler: string, tag: string, count: number): Promise<string[]> {
  const ids: string[] = new Array<string>(count);
  let next = 0;
  const sender = async () => {
    for (let n = next++; n < count; n = next++) {
      const name = `${tag}-${n}`;
      ids[n] = (await world.ingress.send(["Crowd", handler], name, { idempotencyKey: name })).invocationId;
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  return ids;
}

const counted = async (where: string): Promise<number> =>
  Number((await world.admin.query(`SELECT count(*) AS n FROM sys_invocation WHERE ${where}`))[0]?.["n"]);
const untilCounted = (where: string, count: number) =>
  eventually(`${count} where ${where}`, async () => (await counted(where)) === count);

async function begin(body: object): Promise<View> {
  const answer = await world.admin.post("/invocations/batch", body);
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json as View;
}

const view = async (id: string) => (await world.admin.get(`/invocations/batches/${id}`)).json as View;
const untilOver = (id: string) =>
  eventually("the end of the batch", async () => {
    const result = await view(id);
    return result.state !== "running" && result;
  });

async function resultsOf(id: string): Promise<Result[]> {
  const results: Result[] = [];
  for (let cursor: string | null = "0"; cursor !== null; ) {
    const answer = await world.admin.get(`/invocations/batches/${id}/results?cursor=${cursor}`);
    const page = answer.json as { results: Result[]; next_cursor: string | null };
    results.push(...page.results);
    cursor = page.next_cursor;
  }
  return results;
}

/** SIGKILL while some of the batch is done and some is not; false when it was too fast for that. */
async function killInTheMiddle(id: string): Promise<boolean> {
  for (;;) {
    const { done, matched, state } = await view(id);
    if (state !== "running") return false;
    if (done > 0 && done < matched) break;
  }
  await world.server.kill();
  await world.server.startAgain();
  return true;
}

/** Repeats a batch, each with a tag of its own, until it was killed in the middle and not after its end. */
async function inTheMiddle(tag: string, batch: (tag: string) => Promise<boolean>): Promise<void> {
  for (let attempt = 0; !(await batch(`${tag}-${attempt}`)); attempt++);
}

describe("a filter", () => {
  test("chooses by the columns of sys_invocation, shows first and acts then", async () => {
    const ids = await crowd("waits", "filtered", 12);
    await crowd("waits", "spared", 3);
    const filter = "target_service_name = 'Crowd' and status in ('suspended', 'running') and idempotency_key like 'filtered-%'";
    const dry = await world.admin.post("/invocations/batch", { operation: "cancel", filter, dry_run: true });
    expect([dry.status, dry.json]).toEqual([
      200,
      expect.objectContaining({ operation: "cancel", dry_run: true, matched: 12, more_matched: false }),
    ]);
    expect((dry.json as { sample: { id: string }[] }).sample.map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect(await counted("completion_failure is not null")).toBe(0);

    const { id, matched } = await begin({ operation: "cancel", filter });
    expect(matched).toBe(12);
    expect(await untilOver(id)).toMatchObject({ state: "finished", succeeded: 12, failed: 0, remaining: 0 });
    expect((await resultsOf(id)).map(({ invocation_id }) => invocation_id).sort()).toEqual([...ids].sort());
    await untilCounted("idempotency_key like 'filtered-%' and completion_failure like '[409]%'", 12);
    expect(await counted("idempotency_key like 'spared-%' and status <> 'completed'")).toBe(3);
  });

  test.each([
    ["no such column", "colour = 'red'", "colour"],
    ["a text that is not closed", "status = 'open", "not closed"],
    ["more than a condition", "true) or (true", "closes a parenthesis"],
    ["another table", "id in (select name from duckdb_settings())", "sys_ tables"],
    ["no condition", "order by id", "invalid"],
    ["no condition after a comparison", "status = ", "invalid"],
  ])("with %s is refused at once", async (_what, filter, why) => {
    for (const dry_run of [true, false]) {
      const answer = await world.admin.post("/invocations/batch", { operation: "kill", filter, dry_run });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(why)]);
    }
  });

  test("may use the other tables", async () => {
    const [id] = await crowd("waits", "looked-up", 1);
    const filter =
      "status <> 'completed' and id in (select id from sys_journal where entry_type = 'Command: Sleep') and idempotency_key = 'looked-up-0'";
    await eventually("its sleep", async () => {
      const answer = await world.admin.post("/invocations/batch", { operation: "kill", filter, dry_run: true });
      return (answer.json as { matched: number }).matched === 1;
    });
    const batch = await begin({ operation: "kill", filter });
    await untilOver(batch.id);
    expect(await resultsOf(batch.id)).toEqual([{ invocation_id: id, result: "succeeded", status: 200 }]);
  });
});

test("each verb acts like its single route, and each failure is reported", async () => {
  const paused = await crowd("pauses", "paused", 3);
  await untilCounted("idempotency_key like 'paused-%' and status = 'paused'", 3);
  const unknown = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx";
  const purged = await begin({ operation: "purge", ids: [...paused, unknown] });
  expect(await untilOver(purged.id)).toMatchObject({ succeeded: 0, failed: 4 });
  expect((await resultsOf(purged.id)).map(({ status }) => status)).toEqual([409, 409, 409, 404]);
  probe.put("crowd fixed", true);
  const resumed = await begin({ operation: "resume", filter: "status = 'paused'", deployment: "latest" });
  expect(await untilOver(resumed.id)).toMatchObject({ matched: 3, succeeded: 3 });
  for (const [n, id] of paused.entries()) expect(await world.ingress.outcome(id)).toBe(`paused-${n}`);
  const { batches } = (await world.admin.get("/v2/invocations/batches")).json as { batches: View[] };
  expect(batches.map(({ id }) => id)).toEqual(expect.arrayContaining([purged.id, resumed.id]));
});

describe("a server that is killed in the middle of a batch", () => {
  test(
    "continues where it was: each invocation is cancelled once, and none is left out",
    async () => {
      await inTheMiddle("stubborn", async (tag) => {
        await crowd("stubborn", tag, CROWD);
        await untilCounted(`idempotency_key like '${tag}-%' and status = 'suspended'`, CROWD);
        const { id, matched } = await begin({ operation: "cancel", filter: `idempotency_key like '${tag}-%'` });
        expect(matched).toBe(CROWD);
        const wasInTheMiddle = await killInTheMiddle(id);
        expect(await untilOver(id)).toMatchObject({ state: "finished", matched: CROWD, succeeded: CROWD, failed: 0 });
        const results = await resultsOf(id);
        expect(new Set(results.map(({ invocation_id }) => invocation_id)).size).toBe(CROWD);
        const names = Array.from({ length: CROWD }, (_, n) => cancellationsOf(`${tag}-${n}`));
        await eventually("every cancellation", () => names.every((name) => probe.count(name) > 0));
        return wasInTheMiddle;
      });
      const signals = await world.admin.query(
        "SELECT id FROM sys_journal WHERE entry_type = 'Notification: Signal' GROUP BY id HAVING count(*) > 1",
      );
      expect(signals).toEqual([]);
      await begin({ operation: "kill", filter: "status <> 'completed'" }).then((batch) => untilOver(batch.id));
    },
    WHOLE_TEST_MS,
  );

  test(
    "restarts each invocation once",
    async () => {
      await inTheMiddle("restarted", async (tag) => {
        const ids = await crowd("fails", tag, CROWD);
        await untilCounted(`idempotency_key like '${tag}-%' and status = 'completed'`, CROWD);
        const { id } = await begin({ operation: "restart-as-new", filter: `idempotency_key like '${tag}-%'` });
        const wasInTheMiddle = await killInTheMiddle(id);
        expect(await untilOver(id)).toMatchObject({ state: "finished", succeeded: CROWD, failed: 0 });
        const results = await resultsOf(id);
        expect(results.map(({ invocation_id }) => invocation_id).sort()).toEqual([...ids].sort());
        const restarted = new Set<unknown>(ids);
        const rows = await world.admin.query("SELECT id, restarted_from FROM sys_invocation WHERE restarted_from IS NOT NULL");
        const copies = rows.filter((row) => restarted.has(row["restarted_from"]));
        expect(copies).toHaveLength(CROWD);
        const copyOf = new Map(copies.map((row) => [row["restarted_from"], row["id"]]));
        for (const { invocation_id, new_invocation_id } of results) expect(copyOf.get(invocation_id)).toBe(new_invocation_id);
        return wasInTheMiddle;
      });
    },
    WHOLE_TEST_MS,
  );

  test(
    "keeps results and progress of a batch that was over",
    async () => {
      const { id } = await begin({ operation: "purge", filter: "status = 'completed'", limit: 40, reason: "cleaning up" });
      const before = await untilOver(id);
      const results = await resultsOf(id);
      await world.server.kill();
      await world.server.startAgain();
      expect(await view(id)).toEqual(before);
      expect(await resultsOf(id)).toEqual(results);
    },
    WHOLE_TEST_MS,
  );
});
