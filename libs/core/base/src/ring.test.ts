import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { Ring } from "./index.js";

test("behaves as an array used as a queue, in any mix of operations", () => {
  const operation = fc.constantFrom("push", "push", "push", "shift", "shift", "clear", "peek");
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: "max" }), (operations) => {
      const ring = new Ring<number>();
      const array: number[] = [];
      for (const [i, what] of operations.entries()) {
        if (what === "push") {
          ring.push(i);
          array.push(i);
        } else if (what === "shift") expect(ring.shift()).toBe(array.shift());
        else if (what === "peek") expect(ring.peek()).toBe(array[0]);
        else if (i % 20 === 0) {
          ring.clear();
          array.length = 0;
        }
        expect(ring.length).toBe(array.length);
      }
      expect([...ring]).toEqual(array);
    }),
  );
});

test("an undefined item is an item", () => {
  const ring = new Ring<undefined>();
  ring.push(undefined);
  expect(ring.length).toBe(1);
  expect([...ring]).toEqual([undefined]);
});

test("a loop includes items that are pushed meanwhile", () => {
  const ring = new Ring<number>();
  ring.push(1);
  const items: number[] = [];
  for (const item of ring) {
    items.push(item);
    if (item < 40) ring.push(item + 1);
  }
  expect(items).toHaveLength(40);
});
