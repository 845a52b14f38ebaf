import { expect, test } from "@jest/globals";
import { newInvocationId, systemRandom } from "@perdure/base";
import { SOURCE_KEY } from "./action-meter.js";
import { completedKey, epochKey, partitionOfRow, statePrefix, table } from "./keys.js";

test("a row's partition is read from its key; the rows before all partitions have none", () => {
  const id = newInvocationId({ service: "Counter", key: undefined, handler: "add" }, 0, systemRandom);
  for (let partition = 0; partition < 4096; partition++) {
    const keys = [
      epochKey(partition),
      completedKey(partition, id),
      statePrefix(partition, "Counter", "ключ"),
      table(partition, "t"),
    ];
    expect(keys.map(partitionOfRow)).toEqual(keys.map(() => partition));
  }
  expect([SOURCE_KEY, "!a", "!a1"].map(partitionOfRow)).toEqual([undefined, undefined, undefined]);
});
