/** Commands that each verb sends to the partitions, and the answers for their outcomes, including states without recordings. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, PerdureError, partitionKeyOf, systemRandom } from "@perdure/base";
import { aManifest, aWireService, createTestRegistry, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import type { CommandAnswer } from "@perdure/state-machine";
import {
  anInvocation,
  createScriptedPartitions,
  createTestAdminApi,
  type ScriptedPartitions,
  startServer,
  type TestServer,
} from "../src/testing/index.js";

const ID = "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz" as InvocationId;
const OTHER = "inv_1c2dDzYKa7WP3PGIxsrGPigbn2502t4FGu" as InvocationId;

let server: TestServer;
let partitions: ScriptedPartitions;
const endpoints: TestEndpoint[] = [];
/** Deployments: an older and a newer one of `Greeter`, one with other protocol versions, one of another service. */
const deployments: Record<"old" | "latest" | "narrow" | "other", string> = { old: "", latest: "", narrow: "", other: "" };

beforeAll(async () => {
  partitions = createScriptedPartitions();
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), partitions }));
  deployments.old = await register([aWireService("Greeter", ["greet"])]);
  deployments.narrow = await register([aWireService("Greeter", ["greet"])], { maxProtocolVersion: 5 });
  deployments.other = await register([
    aWireService("Counter", ["add"], { ty: "VIRTUAL_OBJECT" }),
    aWireService("Flow", ["run"], { ty: "WORKFLOW" }),
  ]);
  deployments.latest = await register([aWireService("Greeter", ["greet", "more"])]);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const endpoint of endpoints) await endpoint[Symbol.asyncDispose]();
});
beforeEach(() => {
  partitions.commands.length = 0;
  partitions.answers.clear();
  partitions.invocations.clear();
});

async function register(services: readonly object[], change: object = {}): Promise<string> {
  const endpoint = await startEndpoint("h2c", { body: aManifest(services, change) });
  endpoints.push(endpoint);
  const answer = await server.send("POST", "/deployments", { uri: endpoint.uri });
  return answer.json<{ id: string }>().id;
}

function pinnedTo(deployment: keyof typeof deployments, protocolVersion = 7) {
  return { deploymentId: deployments[deployment] as never, protocolVersion };
}

describe("answers of a partition", () => {
  test.each<[verb: string, answer: CommandAnswer, status: number]>([
    ["cancel", { kind: "done" }, 200],
    ["cancel", { kind: "accepted" }, 202],
    ["cancel", { kind: "pending" }, 202],
    ["kill", { kind: "done" }, 200],
    ["kill", { kind: "alreadyCompleted" }, 409],
    ["pause", { kind: "pending" }, 202],
    ["pause", { kind: "alreadyPaused" }, 200],
    ["pause", { kind: "notStarted" }, 409],
    ["resume", { kind: "done" }, 200],
    ["resume", { kind: "notStarted" }, 425],
    ["purge", { kind: "notCompleted" }, 409],
    ["purge-journal", { kind: "done" }, 200],
    ["restart-as-new", { kind: "notCompleted" }, 409],
    ["restart-as-new", { kind: "journalGone" }, 410],
  ])("%s %j is %i", async (verb, answer, status) => {
    partitions.answers.set(ID, answer);
    const response = await server.send("PATCH", `/invocations/${ID}/${verb}`);
    expect(response.status).toBe(status);
    if (status >= 400) expect(response.json()).toMatchObject({ message: expect.stringContaining(ID), restate_code: null });
  });

  test("an unavailable partition is 503 with its code", async () => {
    partitions.answers.set(ID, new PerdureError("ING0006", "no leader"));
    for (const [method, path] of [
      ["PATCH", `/invocations/${ID}/kill`],
      ["DELETE", `/invocations/${ID}`],
    ] as const) {
      const response = await server.send(method, path);
      expect([response.status, response.json()]).toEqual([503, { message: "[ING0006] no leader", restate_code: "ING0006" }]);
    }
  });

  test("an answer that makes no sense is our error, not the caller's", async () => {
    partitions.answers.set(ID, { kind: "versionMismatch" });
    expect((await server.send("PATCH", `/invocations/${ID}/kill`)).status).toBe(500);
  });
});

describe("resume with a deployment", () => {
  const resume = (deployment: string) => server.send("PATCH", `/invocations/${ID}/resume?deployment=${deployment}`);
  beforeEach(() => {
    partitions.answers.set(ID, { kind: "done" });
  });

  test("keep, in any case, needs no look-up", async () => {
    expect((await resume("keep")).status).toBe(200);
    expect((await resume("Keep")).status).toBe(200);
    expect(partitions.commands).toEqual([
      { kind: "resume", id: ID, moveTo: undefined },
      { kind: "resume", id: ID, moveTo: undefined },
    ]);
  });

  test("latest and an id move a pinned invocation that waits", async () => {
    for (const status of ["paused", "suspended"] as const) {
      partitions.invocations.set(ID, anInvocation(ID, status, pinnedTo("old")));
      expect((await resume("latest")).status).toBe(200);
      expect((await resume(deployments.old)).status).toBe(200);
    }
    expect(partitions.commands.map((command) => command.kind === "resume" && command.moveTo)).toEqual([
      deployments.latest,
      deployments.old,
      deployments.latest,
      deployments.old,
    ]);
  });

  test("one without a pin takes the latest anyway, and no other", async () => {
    partitions.invocations.set(ID, anInvocation(ID, "paused", undefined));
    expect((await resume("latest")).status).toBe(200);
    expect(partitions.commands).toEqual([{ kind: "resume", id: ID, moveTo: undefined }]);
    expect((await resume(deployments.old)).status).toBe(409);
  });

  test.each([
    ["invoked", 409],
    ["completed", 409],
    ["scheduled", 425],
    ["inboxed", 425],
  ] as const)("one that is %s is refused with %i before anything is submitted", async (status, expected) => {
    partitions.invocations.set(ID, anInvocation(ID, status, pinnedTo("old")));
    expect((await resume("latest")).status).toBe(expected);
    expect(partitions.commands).toEqual([]);
  });

  test("a deployment that is gone, serves something else or speaks other versions is 400", async () => {
    partitions.invocations.set(ID, anInvocation(ID, "paused", pinnedTo("old")));
    const gone = await resume("dp_172rBAtdHx87DaRnSOtvv3P");
    expect([gone.status, gone.text]).toEqual([400, expect.stringContaining("was not found")]);
    const other = await resume(deployments.other);
    expect([other.status, other.text]).toEqual([400, expect.stringContaining("does not serve 'Greeter/greet'")]);
    const narrow = await resume(deployments.narrow);
    expect([narrow.status, narrow.text]).toEqual([400, expect.stringContaining("needs version 7")]);
    expect(partitions.commands).toEqual([]);
  });

  test("an unknown invocation is 404", async () => {
    expect((await resume("latest")).status).toBe(404);
  });
});

describe("restart as new", () => {
  const restart = (query: string) => server.send("PATCH", `/invocations/${ID}/restart-as-new${query}`);
  const moved = () =>
    partitions.commands.map(
      (command) => command.kind === "restartAsNew" && [command.from, command.moveTo, command.keepDeployment],
    );
  beforeEach(() => {
    partitions.answers.set(ID, { kind: "accepted" });
    partitions.invocations.set(ID, anInvocation(ID, "completed", pinnedTo("old")));
  });

  test("the first attempt chooses the latest unless entries are replayed", async () => {
    for (const query of ["", "?from=0", "?from=2", "?deployment=keep&from=2", `?deployment=${deployments.old}`]) {
      expect((await restart(query)).status).toBe(200);
    }
    expect(moved()).toEqual([
      [0, undefined, false],
      [0, undefined, false],
      [2, deployments.latest, false],
      [2, undefined, true],
      [0, deployments.old, false],
    ]);
  });

  test("a deployment that does not fit is 400", async () => {
    expect((await restart(`?deployment=${deployments.narrow}`)).status).toBe(400);
    expect((await restart("?deployment=dp_172rBAtdHx87DaRnSOtvv3P")).status).toBe(400);
    expect((await restart("?from=4294967296")).status).toBe(400);
    expect(partitions.commands).toEqual([]);
  });

  test("an unknown one is 404, an unfinished one is left to its partition", async () => {
    partitions.invocations.clear();
    expect((await restart("?from=1")).status).toBe(404);
    partitions.invocations.set(ID, anInvocation(ID, "invoked", pinnedTo("old")));
    partitions.answers.set(ID, { kind: "stillRunning" });
    expect((await restart("?from=1")).status).toBe(409);
  });
});

describe("batches", () => {
  const batch = (verb: string, body: object) => server.send("POST", `/internal/invocations_batch_operations/${verb}`, body);

  test("each invocation succeeds or fails on its own", async () => {
    partitions.answers.set(ID, { kind: "done" });
    partitions.answers.set(OTHER, { kind: "alreadyCompleted" });
    const answer = await batch("cancel", { invocation_ids: [OTHER, ID] });
    expect(answer.json()).toEqual({
      succeeded: [ID],
      failed: [{ invocation_id: OTHER, error: `The invocation '${OTHER}' was already completed.` }],
    });
  });

  test("order is kept however many there are", async () => {
    const ids = Array.from({ length: 300 }, () =>
      newInvocationId({ service: "S", key: undefined, handler: "h" }, 0, systemRandom),
    );
    for (const id of ids) partitions.answers.set(id, { kind: "done" });
    expect((await batch("kill", { invocation_ids: ids })).json()).toEqual({ succeeded: ids, failed: [] });
  });

  test("an invalid deployment is refused by the verbs that take one, and ignored by others", async () => {
    partitions.answers.set(ID, { kind: "done" });
    const body = { invocation_ids: [ID], deployment: "dp-1" };
    for (const verb of ["resume", "restart-as-new"]) {
      const refused = await batch(verb, body);
      expect([refused.status, refused.json()]).toEqual([
        400,
        { message: "The request field 'deployment' is invalid. Reason: bad format", restate_code: null },
      ]);
    }
    expect((await batch("kill", body)).json()).toEqual({ succeeded: [ID], failed: [] });
  });

  test("resume and restart take a deployment", async () => {
    partitions.answers.set(ID, { kind: "done" });
    partitions.invocations.set(ID, anInvocation(ID, "paused", pinnedTo("old")));
    expect((await batch("resume", { invocation_ids: [ID], deployment: "latest" })).json()).toEqual({
      succeeded: [ID],
      failed: [],
    });
    expect(partitions.commands).toEqual([{ kind: "resume", id: ID, moveTo: deployments.latest }]);
    const restarted = await batch("restart-as-new", { invocation_ids: [ID] });
    expect(restarted.json()).toMatchObject({ succeeded: [{ old_invocation_id: ID }], failed: [] });
  });

  test("more than a thousand are too many", async () => {
    const answer = await batch("kill", { invocation_ids: new Array(1001).fill(ID) });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("Batch size 1001 exceeds")]);
    expect(partitions.commands).toEqual([]);
  });
});

describe("state edits", () => {
  const edit = (service: string, body: object) => server.send("POST", `/services/${service}/state`, body);

  test("lists of bytes and texts both become bytes, and the key decides the partition", async () => {
    partitions.answers.set("mutateState", { kind: "pending" });
    const answer = await edit("Counter", {
      object_key: "k",
      new_state: { ü: [0, 255], b: "é", ["__proto__"]: [1] },
      version: "v",
    });
    expect(answer.status).toBe(202);
    const [command] = partitions.commands;
    expect(command).toMatchObject({ kind: "mutateState", service: "Counter", key: "k", exclusive: true, expectedVersion: "v" });
    expect(command?.kind === "mutateState" && command.entries.map(({ key, value }) => [key, [...value]])).toEqual([
      ["Ã¼", [0, 255]],
      ["b", [0xc3, 0xa9]],
      ["__proto__", [1]],
    ]);
    const same = newInvocationId({ service: "Counter", key: "k", handler: "add" }, 0, systemRandom);
    expect(command && partitionKeyOf(command.id)).toBe(partitionKeyOf(same));
  });

  test("a workflow's state does not wait for a lock; null means no expectation", async () => {
    partitions.answers.set("mutateState", { kind: "done" });
    expect((await edit("Flow", { object_key: "k", new_state: {}, version: null, scope: null })).status).toBe(202);
    expect(partitions.commands).toMatchObject([{ exclusive: false, expectedVersion: undefined, entries: [] }]);
  });

  test("an edit may be larger than any other request", async () => {
    partitions.answers.set("mutateState", { kind: "done" });
    const value = "x".repeat(2 * 1024 * 1024);
    expect((await edit("Counter", { object_key: "k", new_state: { value } })).status).toBe(202);
    expect((await server.send("POST", "/query", { query: value })).status).toBe(413);
  });

  test("a stale version is 409 instead of silence", async () => {
    partitions.answers.set("mutateState", { kind: "versionMismatch" });
    const answer = await edit("Counter", { object_key: "k", new_state: {}, version: "old" });
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining("'old'")]);
  });

  test.each([
    [{ object_key: "k", new_state: { a: [256] } }, "new_state.a[0]: "],
    [{ object_key: "k", new_state: { a: [1, -1] } }, "new_state.a[1]: "],
    [{ object_key: "k", new_state: { a: [1.5] } }, "new_state.a[0]: "],
    [{ object_key: "k", new_state: { a: null } }, "new_state.a: "],
    [{ object_key: "k", new_state: [] }, "new_state: "],
    [{ object_key: "k" }, "new_state: "],
    [{ new_state: {} }, "missing field `object_key`"],
  ])("%j is 422 with the place of the error", async (body, where) => {
    const answer = await edit("Counter", body);
    expect(answer.status).toBe(422);
    expect(answer.json<{ message: string }>().message).toContain(where);
    expect(partitions.commands).toEqual([]);
  });
});

test("secrets of a Kafka cluster stay what they were when a client writes back what it read", async () => {
  const registry = await createTestRegistry();
  await using kafka = await startServer(createTestAdminApi({ registry }));
  const made = await kafka.send("POST", "/kafka-clusters", {
    name: "k[1]",
    properties: { "bootstrap.servers": "b:1", "sasl.password": "hunter2", "client.id": "***" },
  });
  expect(made.headers["location"]).toBe("kafka-clusters/k%5B1%5D");
  const read = (await kafka.send("GET", "/kafka-clusters/k%5B1%5D")).json<{ properties: Record<string, string> }>();
  expect(read.properties).toEqual({ "bootstrap.servers": "b:1", "sasl.password": "***", "client.id": "***" });
  const patched = await kafka.send("PATCH", "/kafka-clusters/k%5B1%5D", { properties: { ...read.properties, "linger.ms": "5" } });
  expect(patched.text).not.toContain("hunter2");
  expect(registry.kafkaCluster("k[1]")?.properties).toEqual({
    "bootstrap.servers": "b:1",
    "sasl.password": "hunter2",
    "client.id": "***",
    "linger.ms": "5",
  });
});

describe("a virtual queue", () => {
  const QUEUE = "vq_1a1mlWikgvPI7bKU0xvNnoATqq1LSWnL4B";

  test.each(["pause", "resume"])("its partition receives the command to %s", async (verb) => {
    expect((await server.send("POST", `/vqueues/${QUEUE}/${verb}`)).status).toBe(202);
    expect(partitions.commands).toEqual([{ kind: `${verb}Queue`, id: QUEUE.replace("vq_", "inv_"), queue: QUEUE }]);
  });

  test("is not paused where too many are", async () => {
    partitions.answers.set("pauseQueue", { kind: "tooManyPauses" });
    const answer = await server.send("POST", `/vqueues/${QUEUE}/pause`);
    expect(answer.status).toBe(409);
    expect(answer.json()).toMatchObject({ message: expect.stringContaining("too many queues are paused") });
  });

  test.each([
    ["vq_1nope", "bad length"],
    ["inv_1a1mlWikgvPI7bKU0xvNnoATqq1LSWnL4B", "id doesn't match the expected type"],
    ["nope", "bad format"],
  ])("has an id; %s is none", async (id, reason) => {
    const answer = await server.send("POST", `/vqueues/${id}/pause`);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ message: `The request field 'vqueue_id' is invalid. Reason: ${reason}` });
    expect(partitions.commands).toEqual([]);
  });
});

test("/version reports flow control, and scopes of records", async () => {
  const registry = await createTestRegistry();
  const on = await startServer(createTestAdminApi({ registry, scopesEnabled: true, recordScopesEnabled: true }));
  const features = async (of: TestServer) => (await of.send("GET", "/version")).json<{ features: object }>().features;
  expect(await features(on)).toMatchObject({ vqueues: true, kafka_scope: true, scoped_virtual_objects: false });
  expect(await features(server)).toMatchObject({ vqueues: false, kafka_scope: false });
  await on[Symbol.asyncDispose]();
});
