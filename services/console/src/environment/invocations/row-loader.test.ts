import { expect, test } from "@jest/globals";
import { ROWS_AT_ONCE, ROWS_KEPT } from "./limits.js";
import { type InvocationListRow, rowOf } from "./row.js";
import { RowLoader } from "./row-loader.js";

const row = (id: string, status = "running"): InvocationListRow => {
  const made = rowOf({ id, status });
  if (made === undefined) throw new Error("no row");
  return made;
};
const idsFrom = (from: number, count: number) => Array.from({ length: count }, (_, i) => `inv_${from + i}`);

/** Answers when the test resolves it. */
function slowly() {
  const reads: {
    ids: readonly string[];
    signal: AbortSignal;
    answer: (rows: readonly InvocationListRow[]) => void;
    fail: (cause: unknown) => void;
  }[] = [];
  let changes = 0;
  const loader = new RowLoader({
    readRows: (ids, signal) =>
      new Promise((answer, fail) => {
        reads.push({ ids, signal, answer, fail });
        signal.addEventListener("abort", () => fail(signal.reason));
      }),
    onChange: () => changes++,
  });
  return { loader, reads, changes: () => changes };
}
const turn = () => new Promise((done) => setImmediate(done));

test("rows are requested once, some at a time, and those without an answer are deleted", async () => {
  const { loader, reads, changes } = slowly();
  const ids = idsFrom(0, ROWS_AT_ONCE + 1);
  loader.load(ids);
  loader.load(ids);
  expect(reads.map(({ ids }) => ids.length)).toEqual([ROWS_AT_ONCE, 1]);
  expect(loader.get("inv_0")).toBeUndefined();
  reads[0]?.answer([row("inv_0")]);
  await turn();
  expect([loader.get("inv_0")?.status, loader.get("inv_1"), changes()]).toEqual(["running", null, 1]);
  loader.load(idsFrom(0, 5));
  expect(reads).toHaveLength(2);
});

test("requests for rows that were scrolled past are cancelled silently; the others continue", async () => {
  const { loader, reads, changes } = slowly();
  loader.load(idsFrom(0, 10));
  loader.load(idsFrom(5, 10));
  expect(reads.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  expect(reads[1]?.ids).toEqual(idsFrom(10, 5));
  loader.load(idsFrom(1_000, 1));
  await turn();
  expect(reads.map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
  expect([changes(), loader.problem]).toEqual([0, undefined]);
  loader.load(idsFrom(0, 10));
  expect(reads.at(-1)?.ids).toEqual(idsFrom(0, 10));
});

test("a failure is kept until a request succeeds, and the rows stay", async () => {
  const { loader, reads } = slowly();
  loader.load(["a"]);
  reads[0]?.answer([row("a")]);
  await turn();
  const again = loader.refresh(["a"]);
  reads[1]?.fail(new Error("away"));
  await again;
  expect([String(loader.problem), loader.get("a")?.status]).toEqual(["Error: away", "running"]);
  const third = loader.refresh(["a"]);
  reads[2]?.answer([row("a", "completed")]);
  await third;
  expect([loader.problem, loader.get("a")?.status]).toEqual([undefined, "completed"]);
});

test("the cache is bounded, and rows that were read last stay", async () => {
  const loader = new RowLoader({ readRows: async (ids) => ids.map((id) => row(id)), onChange: () => undefined });
  await loader.refresh(idsFrom(0, ROWS_KEPT));
  await loader.refresh(idsFrom(0, 1));
  await loader.refresh(idsFrom(ROWS_KEPT, 10));
  expect([loader.get("inv_0")?.id, loader.get("inv_5"), loader.get(`inv_${ROWS_KEPT + 9}`)?.status]).toEqual([
    "inv_0",
    undefined,
    "running",
  ]);
  loader.close();
});
