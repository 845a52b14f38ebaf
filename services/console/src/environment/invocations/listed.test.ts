import { describe, expect, test } from "@jest/globals";
import { HEAD_ROWS } from "./limits.js";
import { type ListResponse, NOTHING_SHOWN, nextShown, type Shown, withPage } from "./listed.js";
import { freshCount, isSame, spliced } from "./listed-ids.js";
import type { Cursor, InvocationIdPage } from "./statements.js";

const aPage = (ids: readonly string[], next?: Cursor): InvocationIdPage => ({ ids, next });
const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => `i${first - i}`);

describe("new ones on top", () => {
  test("are counted, as long as head and list meet", () => {
    expect(freshCount(from(100, 50), from(103, 50))).toBe(3);
    expect(freshCount(from(100, 50), from(100, 50))).toBe(0);
    expect(freshCount(from(100, 50), from(900, 50))).toBeUndefined();
    expect([freshCount([], from(3, 3)), freshCount(from(3, 3), [])]).toEqual([3, 0]);
  });

  test("a head that is not full is everything there is", () => {
    expect(spliced(from(10, 10), from(12, 4))).toEqual(from(12, 4));
    expect(spliced(from(10, 10), [])).toEqual([]);
  });

  test("a full head goes on top of the rest, nothing twice", () => {
    const listed = from(1_000, 900);
    expect(spliced(listed, from(1_003, HEAD_ROWS))).toEqual(from(1_003, 903));
    // Sorted by change, one from far below has come up.
    const moved = ["i200", ...from(1_000, HEAD_ROWS - 1)];
    expect(spliced(listed, moved)).toEqual([...moved, ...listed.slice(HEAD_ROWS - 1).filter((id) => id !== "i200")]);
  });

  test("lists that do not overlap are requested again", () => {
    expect(spliced(from(1_000, 900), from(5_000, HEAD_ROWS))).toBeUndefined();
  });
});

test("lists are the same when each is", () => {
  expect([isSame(["a", "b"], ["a", "b"]), isSame(["a"], ["a", "b"]), isSame(["a"], ["b"])]).toEqual([true, false, false]);
});

describe("the list on the screen", () => {
  const response = (more: Partial<ListResponse> = {}): ListResponse => ({
    key: "k",
    head: from(1_000, HEAD_ROWS),
    page: undefined,
    pageAt: 0,
    mayMove: true,
    ...more,
  });
  const shownOf = (next: Shown | "reload"): Shown => {
    if (next === "reload") throw new Error("the list must be reloaded");
    return next;
  };
  const head = shownOf(nextShown(NOTHING_SHOWN, response()));
  const whole = shownOf(nextShown(head, response({ page: aPage(from(999, 999)), pageAt: 5 })));

  test("begins with the head, and is whole when a head is not full or all ids are there", () => {
    expect([head.ids.length, head.isPaged]).toEqual([HEAD_ROWS, false]);
    expect(nextShown(NOTHING_SHOWN, response({ head: ["a"] }))).toMatchObject({ ids: ["a"], isPaged: true });
    // Ids that arrived while all were counted are on top.
    expect([whole.ids, whole.isPaged]).toEqual([from(1_000, 1_000), true]);
  });

  test("adds new invocations, but not while the user reads", () => {
    const later = response({ head: from(1_002, HEAD_ROWS), page: aPage(from(999, 999)), pageAt: 5 });
    expect(nextShown(whole, { ...later, mayMove: false })).toBe(whole);
    expect(shownOf(nextShown(whole, later)).ids).toEqual(from(1_002, 1_002));
    expect(nextShown(whole, response({ page: aPage(from(999, 999)), pageAt: 5 }))).toBe(whole);
    expect(nextShown(whole, response({ page: aPage(from(1_000, 500)), pageAt: 6, mayMove: false }))).toBe(whole);
  });

  test("requests all again when more have come than a head holds, or when the user reloads", () => {
    const far = response({ head: from(5_000, HEAD_ROWS), page: aPage(from(999, 999)), pageAt: 5 });
    expect(nextShown(whole, far)).toBe("reload");
    expect(nextShown({ ...whole, isPaged: false }, far)).toBe("reload");
    expect(shownOf(nextShown({ ...whole, isPaged: false }, { ...far, page: aPage(from(5_000, 4_000)), pageAt: 6 })).ids).toEqual(
      from(5_000, 4_000),
    );
  });

  test("continues page by page, nothing twice, and begins anew where a page begins", () => {
    const end = { atUs: 5, id: "i2" };
    const first = shownOf(nextShown(head, response({ page: aPage(from(1_000, 999), end), pageAt: 5 })));
    expect([first.ids.length, first.next]).toEqual([999, end]);
    // One has moved down since the first page was read.
    expect(withPage(first, aPage(["i700", "i1", "i0"]))).toMatchObject({ ids: from(1_000, 1_001), next: undefined });
    expect(shownOf(nextShown(first, response({ head: from(1_001, HEAD_ROWS), pageAt: 5 }))).next).toEqual(end);
    expect(shownOf(nextShown(first, response({ page: aPage(from(1_000, 500)), pageAt: 6 }))).next).toBeUndefined();
    expect(shownOf(nextShown(first, response({ head: ["a"], pageAt: 5 })))).toMatchObject({ ids: ["a"], next: undefined });
  });

  test("is another one when the condition is", () => {
    expect(nextShown(whole, response({ key: "other", head: ["x"] }))).toMatchObject({ key: "other", ids: ["x"], isPaged: true });
  });
});
