import { expect, test } from "@jest/globals";
import { newInvocationId, PartitionSubset, partitionOf, systemRandom } from "./index.js";

test("an id belongs to the subset that has its partition", () => {
  const subset = new PartitionSubset([5, 1, 5], 8);
  expect(subset.partitions).toEqual([1, 5]);
  for (let n = 0; n < 100; n++) {
    const id = newInvocationId({ service: "S", key: `k${n}`, handler: "h" }, 0, systemRandom);
    expect(subset.hasId(id)).toBe([1, 5].includes(partitionOf(id, 8)));
  }
});

test("a partition that does not exist is refused", () => {
  expect(() => new PartitionSubset([8], 8)).toThrow("the partition exists");
});
