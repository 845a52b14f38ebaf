import { expect, test } from "@jest/globals";
import type { CommandReply } from "./link.js";
import { bytesReply, fieldsReply, listReply, numberReply, scanReply, streamReply, valuesReply } from "./replies.js";

const A = Buffer.from("a");

test("replies are returned in the shape of their command", () => {
  expect([bytesReply(A), bytesReply(null)]).toEqual([A, null]);
  expect([listReply([]), listReply([A, A])]).toEqual([[], [A, A]]);
  expect(fieldsReply([A, null])).toEqual([A, null]);
  expect(numberReply(-3)).toBe(-3);
  expect(streamReply([[A, [A, Buffer.from("b")]]])).toEqual([Buffer.from("b")]);
  expect(valuesReply([1, A])).toEqual([1, A]);
  expect(scanReply([Buffer.from("17"), [A]])).toEqual({ next: "17", items: [A] });
});

test.each<readonly [string, (reply: CommandReply) => unknown, readonly CommandReply[]]>([
  ["bytes", bytesReply, [1, [], "text"]],
  ["a list", listReply, [null, A, [null], [1], [[A]]]],
  ["fields", fieldsReply, [null, A, [1], [[A]]]],
  ["a number", numberReply, [null, A, "1", []]],
  ["entries", streamReply, [null, A, [A], [[A]], [[A, [A]]], [[A, [A, null]]]]],
  ["values", valuesReply, [null, A, 1]],
  ["a page", scanReply, [null, [], [A], [A, A], [null, [A]], [A, [null]]]],
])("a reply of another shape than %s is an error of the store, and so is an error reply", (_what, read, replies) => {
  for (const reply of replies) expect(() => read(reply)).toThrow(expect.objectContaining({ code: "STO0001" }));
  expect(() => read(new Error("WRONGTYPE"))).toThrow(expect.objectContaining({ code: "STO0003" }));
});
