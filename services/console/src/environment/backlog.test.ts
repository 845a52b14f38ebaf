import { expect, test } from "@jest/globals";
import { backlogOf } from "./backlog.js";

const times = [0, 10, 20];
const bucketMs = 10;

test("the number of now is continued into the past, past the time that no point covers yet", () => {
  const flows = [
    { atMs: 10, created: 5, completed: 0 },
    { atMs: 30, created: 1, completed: 0 },
    { atMs: 20, created: 0, completed: 3 },
  ];
  expect(backlogOf({ times, bucketMs, flows, unfinishedNow: 4 })).toEqual([1, 6, 3]);
});

test("a number that was read before an invocation was created is not negative", () => {
  const flows = [{ atMs: 20, created: 2, completed: 0 }];
  expect(backlogOf({ times, bucketMs, flows, unfinishedNow: 1 })).toEqual([0, 0, 1]);
});
