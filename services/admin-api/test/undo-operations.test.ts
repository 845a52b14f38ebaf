/** Operations are stored before their change, named only when they are stored, and bounded. */
import { expect, test } from "@jest/globals";
import { newInvocationId, type OperationId, PerdureError, systemRandom } from "@perdure/base";
import { createMemoryMetadataStore, type DocumentWrite, type MetadataStore, type WriteOutcome } from "@perdure/metadata";
import { createTestRegistry } from "@perdure/registry/testing";
import type { CommandAnswer } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import type { BatchService } from "../src/batches/batches.js";
import { OPERATIONS_KEPT_MAX } from "../src/limits.js";
import { Operations } from "../src/operations/operations.js";
import { OPERATIONS_PREFIX } from "../src/operations/record.js";
import { createScriptedPartitions, createTestAdminApi, startServer } from "../src/testing/index.js";

const WINDOW_MS = 600_000;
const ID = newInvocationId({ service: "Greeter", key: undefined, handler: "greet" }, 0, systemRandom);
const KILL = { verb: "kill", ids: [ID], startedBy: "test", reason: undefined } as const;

/** `refuse` returns the outcome of a write that is not carried out. */
function setup(refuse: (writes: readonly DocumentWrite[]) => WriteOutcome | undefined = () => undefined) {
  const store = createMemoryMetadataStore();
  const metadata: Pick<MetadataStore, "get" | "list" | "write"> = {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    write: async (writes) => refuse(writes) ?? store.write(writes),
  };
  const clock = new VirtualClock();
  const partitions = createScriptedPartitions();
  partitions.answers.set(ID, { kind: "done" });
  // Only batches use them, and none begins here.
  const batches = {} as BatchService;
  const restoreDeleted = async () => "notKept" as const;
  const kept = { registry: { restoreDeleted }, schedules: { restore: restoreDeleted } };
  const copies = { kept: () => undefined };
  const ports = { partitions, batches, metadata, ...kept, copies, clock, random: systemRandom };
  const operations = new Operations(ports, WINDOW_MS);
  const stored = async () => (await store.list(OPERATIONS_PREFIX)).map(({ key }) => key.slice(OPERATIONS_PREFIX.length));
  const begin = async (count: number, by = operations): Promise<OperationId[]> => {
    const ids: OperationId[] = [];
    for (let n = 0; n < count; n++) ids.push((await by.begin(KILL)).operation);
    return ids;
  };
  return { ports, operations, partitions, clock, stored, begin };
}

const IN_USE: WriteOutcome = { kind: "conflict", key: "operations/op", actualVersion: 7 };

test("an operation whose id is in use gets another one: what is named is stored", async () => {
  let refusals = 2;
  const { operations, stored } = setup((writes) => (writes.length > 0 && refusals-- > 0 ? IN_USE : undefined));
  const { operation } = await operations.begin(KILL);
  expect(await stored()).toEqual([operation]);
});

test.each<[string, () => WriteOutcome]>([
  ["refuses it", () => IN_USE],
  [
    "fails",
    () => {
      throw new PerdureError("STO0001", "the database is away");
    },
  ],
])("where the store %s, a kill is carried out without a mark, and its response names no operation", async (_, refuse) => {
  const { operations, partitions, stored } = setup(refuse);
  const api = createTestAdminApi({ registry: await createTestRegistry(), partitions, operations });
  await using server = await startServer(api);
  const response = await server.send("PATCH", `/invocations/${ID}/kill`);
  expect([response.status, response.headers["x-perdure-operation"]]).toEqual([200, undefined]);
  expect(partitions.commands).toEqual([{ kind: "kill", id: ID, undo: undefined }]);
  expect(await stored()).toEqual([]);
});

test("beyond the bound, operations whose time is over go first, then undone ones, then the oldest", async () => {
  const { ports, operations, partitions, clock, stored, begin } = setup();
  partitions.answers.set(ID, { kind: "undo", result: "undone", notified: [], isClientNotified: false });
  const oldest = await begin(100, new Operations(ports, 86_400_000));
  const over = await begin(100);
  clock.advanceBy(WINDOW_MS);
  const undone = await begin(150);
  for (const id of undone) await operations.undo(id);
  const others = await begin(OPERATIONS_KEPT_MAX - 350);

  const kept = async (): Promise<number[]> => {
    const present = new Set(await stored());
    return [oldest, over, undone, others].map((ids) => ids.filter((id) => present.has(id)).length);
  };
  await begin(101); // The first of each hundred deletes those beyond the bound.
  expect(await kept()).toEqual([100, 0, 150, 1_650]);
  await begin(100);
  expect(await kept()).toEqual([100, 0, 50, 1_650]);
  await begin(100);
  expect(await kept()).toEqual([50, 0, 0, 1_650]);
});

test("a kill after a quiet day deletes all old operations, more than one write takes", async () => {
  const { clock, stored, begin } = setup();
  await begin(1_600);
  clock.advanceBy(86_400_000);
  const [present] = await begin(1);
  expect(await stored()).toEqual([present]);
});

test.each<[string, string, CommandAnswer, boolean]>([
  ["a pause", "pause", { kind: "pending" }, true],
  ["a pause of a paused invocation", "pause", { kind: "alreadyPaused" }, false],
  ["a resumption", "resume", { kind: "done" }, true],
  ["a resumption of an invocation that was not paused", "resume", { kind: "accepted" }, false],
  ["a cancellation that the handler is notified of", "cancel", { kind: "pending" }, false],
])("%s names its operation exactly when it changed something that can be undone", async (_, verb, answer, isNamed) => {
  const { operations, partitions, clock, stored } = setup();
  partitions.answers.set(ID, answer);
  const api = createTestAdminApi({ registry: await createTestRegistry(), partitions, operations });
  await using server = await startServer(api);
  const { headers } = await server.send("PATCH", `/invocations/${ID}/${verb}`);
  const kept = await stored();
  expect(kept).toHaveLength(isNamed ? 1 : 0);
  expect(headers["x-perdure-operation"]).toBe(kept[0]);
  expect(partitions.commands).toMatchObject([{ kind: verb, id: ID, undo: { untilMs: clock.nowMs() + WINDOW_MS } }]);
});

test("a restart names the operation whose undo ends the copy, and a refused one stores none", async () => {
  const { operations, partitions, stored } = setup();
  const api = createTestAdminApi({ registry: await createTestRegistry(), partitions, operations });
  await using server = await startServer(api);
  const restart = (query: string) => server.send("PATCH", `/invocations/${ID}/restart-as-new${query}`);
  expect((await restart("?from=-1")).status).toBe(400);
  expect((await restart("?deployment=none")).status).toBe(400);
  expect(await stored()).toEqual([]);
  expect(partitions.commands).toEqual([]);

  partitions.answers.set(ID, { kind: "accepted" });
  const { status, headers } = await restart("");
  expect([status, [headers["x-perdure-operation"]]]).toEqual([200, await stored()]);
});
