import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { createMemoryMetadataStore } from "@perdure/metadata";
import { partitionCountOf } from "./partition-count.js";

test("the first start writes the number down, and no later setting changes it", async () => {
  await using metadata = createMemoryMetadataStore();
  expect(await partitionCountOf(metadata, 8, silentLogger)).toBe(8);
  expect(await partitionCountOf(metadata, 24, silentLogger)).toBe(8);
});

test.each([{ count: "8" }, { count: 0 }, { count: 1.5 }, null, {}])("a stored %j is refused as damage", async (value) => {
  await using metadata = createMemoryMetadataStore();
  await metadata.write([{ kind: "put", key: "cluster/partitions", value, expectedVersion: 0 }]);
  await expect(partitionCountOf(metadata, 8, silentLogger)).rejects.toMatchObject({ code: "STO0003" });
});
