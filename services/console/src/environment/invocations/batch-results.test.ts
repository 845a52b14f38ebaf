import { expect, test } from "@jest/globals";
import type { BatchResultView } from "@perdure/admin-client";
import { nextResults } from "./batch-results.js";

const result = (n: number, kind: "succeeded" | "failed"): BatchResultView => ({
  invocation_id: `inv_${n}`,
  result: kind,
  status: 200,
});
const pages = (...all: readonly BatchResultView[][]) => {
  const cursors: (string | undefined)[] = [];
  const fetchPage = async (cursor: string | undefined) => {
    cursors.push(cursor);
    const at = Number(cursor ?? 0);
    return { results: all[at] ?? [], next: at + 1 < all.length ? String(at + 1) : undefined };
  };
  return { fetchPage, cursors };
};

test("one page at a time shows everything", async () => {
  const { fetchPage } = pages([result(1, "failed"), result(2, "succeeded")], [result(3, "succeeded")]);
  expect(await nextResults(fetchPage, undefined, false)).toEqual({
    rows: [result(1, "failed"), result(2, "succeeded")],
    next: "1",
  });
  expect(await nextResults(fetchPage, "1", false)).toEqual({ rows: [result(3, "succeeded")], next: undefined });
});

test("failures are gathered from as many pages as it takes", async () => {
  const many = Array.from({ length: 60 }, (_, n) => result(n, "failed"));
  const { fetchPage, cursors } = pages([result(100, "succeeded")], [result(101, "failed")], many, [result(102, "failed")]);
  const first = await nextResults(fetchPage, undefined, true);
  expect([first.rows.length, first.next, cursors.length]).toEqual([61, "3", 3]);
  expect(await nextResults(fetchPage, "3", true)).toEqual({ rows: [result(102, "failed")], next: undefined });
});

test("a running batch that has no more results for now is not requested in a loop", async () => {
  let requestCount = 0;
  const shown = await nextResults(
    async (cursor) => {
      requestCount++;
      return { results: [], next: cursor ?? "0" };
    },
    undefined,
    true,
  );
  expect([shown, requestCount]).toEqual([{ rows: [], next: undefined }, 1]);
});
