import { describe, expect, test } from "@jest/globals";
import { SeededRandom } from "./index.js";

function draw(random: SeededRandom, count: number): number[] {
  return Array.from({ length: count }, () => random.uint32());
}

test("the same seed gives the same numbers, another seed others", () => {
  expect(draw(new SeededRandom(7), 100)).toEqual(draw(new SeededRandom(7), 100));
  const firsts = new Set(Array.from({ length: 1000 }, (_, seed) => draw(new SeededRandom(seed), 2).join()));
  expect(firsts.size).toBe(1000);
});

test("the numbers of a seed never change, so that a seed written into a test keeps its meaning", () => {
  expect(draw(new SeededRandom(1), 4)).toMatchInlineSnapshot(`
[
  393288148,
  2174103013,
  3814759091,
  2092745082,
]
`);
});

test("large and negative seeds are seeds", () => {
  const seeds = [0, -1, 2 ** 32, 2 ** 40 + 3, Number.MAX_SAFE_INTEGER];
  expect(new Set(seeds.map((seed) => draw(new SeededRandom(seed), 3).join())).size).toBe(seeds.length);
});

describe("what is drawn", () => {
  test("is spread evenly", () => {
    const random = new SeededRandom(42);
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 100_000; i++) counts[random.below(10)]!++;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    let heads = 0;
    for (let i = 0; i < 10_000; i++) if (random.chance(0.25)) heads++;
    expect(Math.abs(heads - 2500)).toBeLessThan(250);
  });

  test("stays in range", () => {
    const random = new SeededRandom(3);
    for (let i = 0; i < 10_000; i++) {
      const float = random.float();
      expect(float >= 0 && float < 1).toBe(true);
    }
    expect(random.chance(0)).toBe(false);
    expect(random.chance(1)).toBe(true);
    expect(random.below(1)).toBe(0);
  });

  test("fills arrays whose length is not a multiple of four", () => {
    const bytes = new Uint8Array(11);
    new SeededRandom(9).bytes(bytes);
    const again = new Uint8Array(11);
    new SeededRandom(9).bytes(again);
    expect(bytes).toEqual(again);
    expect(new Set(bytes).size).toBeGreaterThan(5);
  });

  test("is picked from lists that are not empty", () => {
    const random = new SeededRandom(5);
    expect(new Set(Array.from({ length: 100 }, () => random.pick(["a", "b", "c"])))).toEqual(new Set(["a", "b", "c"]));
    expect(() => random.pick([])).toThrow("cannot pick from an empty list");
  });
});

test("a fork does not follow the numbers of its parent, however many either draws", () => {
  const parent = new SeededRandom(11);
  const child = parent.fork();
  draw(child, 1000);
  const other = new SeededRandom(11);
  other.fork();
  expect(draw(parent, 10)).toEqual(draw(other, 10));
  expect(draw(child, 10)).not.toEqual(draw(parent, 10));
});
