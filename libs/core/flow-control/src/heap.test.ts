import { expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { Heap, NOWHERE } from "./heap.js";

test("returns items in order whatever was pushed, removed and moved before", () => {
  const random = new SeededRandom(1);
  for (let round = 0; round < 8; round++) {
    const heap = new Heap<"at", { n: number; at: number }>("at", (a, b) => a.n < b.n);
    const inside = new Set<{ n: number; at: number }>();
    for (let step = 0; step < 200; step++) {
      const some = [...inside][random.below(Math.max(1, inside.size))];
      const what = random.below(5);
      if (what < 3 || some === undefined) {
        const item = { n: random.below(40), at: NOWHERE };
        heap.push(item);
        inside.add(item);
      } else if (what === 3) {
        heap.remove(some);
        inside.delete(some);
        expect(heap.has(some)).toBe(false);
      } else {
        some.n = random.below(40);
        heap.moved(some);
      }
      expect(heap.size).toBe(inside.size);
      expect(heap.peek()?.n).toBe(inside.size === 0 ? undefined : Math.min(...[...inside].map(({ n }) => n)));
    }
    for (const item of inside) item.n = random.below(40);
    heap.reorder();
    let last = -1;
    for (let item = heap.peek(); item !== undefined; item = heap.peek()) {
      expect(item.n).toBeGreaterThanOrEqual(last);
      last = item.n;
      heap.remove(item);
    }
  }
});
