import { MessageChannel } from "node:worker_threads";
import { afterEach, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { ThreadCalls } from "./calls.js";

interface Other {
  add(a: number, b: number): number;
  later(value: Map<string, number>): Promise<Map<string, number>>;
  refuse(): void;
  fail(): void;
  never(): Promise<void>;
}

const order: string[] = [];
const other = {
  add: (a: number, b: number) => {
    order.push(`${a}+${b}`);
    return a + b;
  },
  later: async (value: Map<string, number>) => value,
  refuse: () => {
    throw new PerdureError("STO0004", "the disk is full");
  },
  fail: () => {
    throw new TypeError("a secret");
  },
  never: () => new Promise<void>(() => undefined),
};

let calls: ThreadCalls<Other>;
let answering: ThreadCalls<Record<string, never>>;
function connect(): void {
  const { port1, port2 } = new MessageChannel();
  calls = new ThreadCalls(port1, {});
  answering = new ThreadCalls(port2, other);
}
afterEach(() => calls[Symbol.dispose]());

test("methods of the other thread return their results, in the order of the calls", async () => {
  connect();
  const sums = await Promise.all([calls.call("add", 1, 2), calls.call("add", 3, 4)]);
  expect(sums).toEqual([3, 7]);
  expect(order).toEqual(["1+2", "3+4"]);
  expect(await calls.call("later", new Map([["a", 1]]))).toEqual(new Map([["a", 1]]));
});

test("a notice is not answered, and keeps its place among the calls", async () => {
  connect();
  order.length = 0;
  calls.notify("add", 5, 6);
  expect(await calls.call("add", 7, 8)).toBe(15);
  expect(order).toEqual(["5+6", "7+8"]);
});

test("errors keep their code, and an unexpected one keeps its text to its thread", async () => {
  connect();
  await expect(calls.call("refuse")).rejects.toMatchObject({ code: "STO0004", detail: "the disk is full" });
  await expect(calls.call("fail")).rejects.toMatchObject({ code: "OPS0003", detail: "internal error" });
});

test("calls reject when the other thread ends, those that wait and later ones", async () => {
  connect();
  const waiting = calls.call("never");
  answering[Symbol.dispose]();
  await expect(waiting).rejects.toMatchObject({ code: "OPS0004" });
  await expect(calls.call("add", 1, 1)).rejects.toMatchObject({ code: "OPS0004" });
});
