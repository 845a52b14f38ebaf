/** State edits and deletions are undone by the real server: after a crash, once, and never over what is newer. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, probe, TestWorld } from "../src/index.js";
import { awakeableOf, undoServices } from "../src/services/undo.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start();
  await world.deploy({ services: undoServices });
});
afterAll(() => world[Symbol.asyncDispose]());

const undo = (id: string) => world.admin.http.request("POST", `/operations/${id}/undo`);
const operationOf = async (id: string) => (await world.admin.get(`/operations/${id}`)).json;

describe("a state edit", () => {
  const stateOf = async (key: string): Promise<Record<string, unknown>> => {
    const rows = await world.admin.query(
      `SELECT key, value_utf8 FROM state WHERE service_name = 'UndoObject' AND service_key = '${key}' ORDER BY key`,
    );
    return Object.fromEntries(rows.map((row) => [row["key"], row["value_utf8"]]));
  };
  const edit = async (key: string, state: Record<string, string>): Promise<string> => {
    const answer = await world.admin.post("/services/UndoObject/state", { object_key: key, new_state: state });
    expect(answer.status).toBe(202);
    return answer.headers["x-perdure-operation"] as string;
  };
  const hold = async (name: string): Promise<void> => {
    await world.ingress.send(["UndoObject", name, "block"], { name, key: name, sleepMs: 0 });
    await eventually("the handler", () => probe.get(awakeableOf(name)) !== undefined);
  };
  const release = (name: string) => world.ingress.resolveAwakeable(probe.get(awakeableOf(name)) as string, "released");
  const untilState = (key: string, state: Record<string, string>) =>
    eventually(`the state of ${key}`, async () => JSON.stringify(await stateOf(key)) === JSON.stringify(state));

  test("is undone after a crash, once, and is listed with its subject", async () => {
    await edit("crash", { a: "1", b: "2" });
    const operation = await edit("crash", { a: "10", c: "3" });
    expect(await operationOf(operation)).toMatchObject({
      operation: "edit-state",
      subject: "UndoObject/crash",
      invocation_id: null,
      state: "undoable",
    });
    await world.server.kill();
    await world.server.startAgain();
    expect(await stateOf("crash")).toEqual({ a: "10", c: "3" });
    const undone = await undo(operation);
    expect([undone.status, undone.json]).toEqual([200, expect.objectContaining({ state: "undone" })]);
    expect(await stateOf("crash")).toEqual({ a: "1", b: "2" });
    await world.server.kill();
    await world.server.startAgain();
    expect((await undo(operation)).json).toEqual(undone.json);
    expect(await stateOf("crash")).toEqual({ a: "1", b: "2" });
    expect(await world.admin.query(`SELECT operation, target, state FROM sys_operation WHERE id = '${operation}'`)).toEqual([
      { operation: "edit-state", target: "UndoObject/crash", state: "undone" },
    ]);
  });

  test("that waits behind a handler is withdrawn", async () => {
    await hold("waits");
    const operation = await edit("waits", { a: "10" });
    expect((await undo(operation)).json).toMatchObject({ state: "undone", undo: { undone: 1, cannot_be_undone: [] } });
    await release("waits");
    await untilState("waits", { count: "1" });
    expect((await world.ingress.call(["UndoObject", "waits", "count"])).json).toBe(1);
  });

  test("is undone behind the handler that holds the object, unless that writes the same entries", async () => {
    for (const [key, after] of [
      ["beside", { a: "1", count: "1" }],
      ["count", { count: "1" }],
    ] as const) {
      await edit(key, key === "beside" ? { a: "1" } : {});
      const operation = await edit(key, key === "beside" ? { a: "10" } : { count: "0" });
      await hold(key);
      const answer = await undo(operation);
      // What the handler has written is durable already: the undo of the same entry is refused at once.
      if (key === "count")
        expect([answer.status, answer.json]).toEqual([409, expect.objectContaining({ restate_code: "OPS0009" })]);
      else expect(answer.json).toMatchObject({ undo: { cannot_be_undone: [expect.stringContaining("UndoObject/beside")] } });
      await release(key);
      await untilState(key, after);
    }
  });

  test("is not undone over a later edit of the same entry, and beside one of another entry", async () => {
    const first = await edit("later", { a: "1" });
    const second = await edit("later", { a: "1", b: "2" });
    const third = await edit("later", { a: "3", b: "2" });
    const refused = await undo(first);
    expect([refused.status, refused.json]).toEqual([
      409,
      expect.objectContaining({ restate_code: "OPS0009", message: expect.stringContaining("has changed since") }),
    ]);
    expect(await operationOf(first)).toMatchObject({ state: "undoable" });
    await undo(second);
    expect(await stateOf("later")).toEqual({ a: "3" });
    await undo(third);
    await undo(first);
    expect(await stateOf("later")).toEqual({});
  });
});

describe("a deletion", () => {
  const removed = async (path: string): Promise<string> => {
    const answer = await world.admin.delete(path);
    expect(answer.status).toBe(202);
    return answer.headers["x-perdure-operation"] as string;
  };
  const crash = async (): Promise<void> => {
    await world.server.kill();
    await world.server.startAgain();
  };
  const SCHEDULE = { name: "nightly", cron: "0 3 * * *", target: { service: "UndoObject", key: "scheduled", handler: "count" } };

  test("of a deployment is undone after a crash: its services are called again under the same id", async () => {
    const [row] = await world.admin.query("SELECT id FROM sys_deployment");
    const id = row?.["id"] as string;
    const operation = await removed(`/deployments/${id}?force=true`);
    await crash();
    expect(await operationOf(operation)).toMatchObject({
      operation: "delete-deployment",
      subject: `deployment ${id}`,
      matched: 1,
    });
    expect((await world.admin.get("/services/UndoObject")).status).toBe(404);
    const undone = await undo(operation);
    expect([undone.status, undone.json]).toEqual([200, expect.objectContaining({ state: "undone" })]);
    expect((await world.ingress.call(["UndoObject", "restored", "count"])).json).toBe(0);
    await crash();
    expect((await undo(operation)).json).toEqual(undone.json);
    expect(await world.admin.query("SELECT id FROM sys_deployment")).toEqual([{ id }]);
  });

  test("of a Kafka cluster and of an event subscription are undone after a crash, and are rows of sys_operation", async () => {
    await world.admin.post("/kafka-clusters", { name: "undone", properties: { "bootstrap.servers": "127.0.0.1:1" } });
    const webhook = { types: ["invocation.failed"], to: { url: "https://hooks.example/undone" } };
    const { id } = (await world.admin.post("/event-subscriptions", webhook)).json as { id: string };
    const paths = ["/kafka-clusters/undone", `/event-subscriptions/${id}`];
    const before = await Promise.all(paths.map((path) => world.admin.get(path)));
    const operations = [await removed(paths[0]!), await removed(paths[1]!)];
    await crash();
    const verbs = "('delete-event-subscription', 'delete-kafka-cluster')";
    const listed = `SELECT operation, target FROM sys_operation WHERE operation IN ${verbs} ORDER BY operation`;
    expect(await world.admin.query(listed)).toEqual([
      { operation: "delete-event-subscription", target: `event subscription ${id}` },
      { operation: "delete-kafka-cluster", target: "Kafka cluster undone" },
    ]);
    for (const operation of operations) expect((await undo(operation)).json).toMatchObject({ state: "undone" });
    const after = await Promise.all(paths.map((path) => world.admin.get(path)));
    expect(after.map(({ status, json }) => [status, json])).toEqual(before.map(({ json }) => [200, json]));
    for (const path of paths) await removed(path);
  });

  test("of a schedule is undone, and refused while its name is in use; an unknown one names no operation", async () => {
    const { id } = (await world.admin.post("/schedules", SCHEDULE)).json as { id: string };
    const operation = await removed(`/schedules/${id}`);
    const other = (await world.admin.post("/schedules", SCHEDULE)).json as { id: string };
    const refused = await undo(operation);
    expect([refused.status, refused.json]).toEqual([
      409,
      expect.objectContaining({ restate_code: "OPS0009", message: expect.stringContaining(other.id) }),
    ]);
    await removed(`/schedules/${other.id}`);
    expect((await undo(operation)).json).toMatchObject({ state: "undone", undo: { undone: 1, failed: 0 } });
    expect((await world.admin.get(`/schedules/${id}`)).json).toMatchObject({ id, name: "nightly" });
    const before = (await world.admin.query("SELECT count(*) AS n FROM sys_operation"))[0];
    expect((await world.admin.delete(`/schedules/${id}?expected_version=7`)).status).toBe(409);
    expect((await world.admin.query("SELECT count(*) AS n FROM sys_operation"))[0]).toEqual(before);
  });
});
