/**
 * The number of partitions of a data directory. An invocation's partition follows from its id and this number, so the number must never
 * change under existing data. It is stored at the first start; later the setting only matters to new data directories.
 */
import { jsonFields, type Logger, PerdureError } from "@perdure/base";
import type { MetadataStore } from "@perdure/metadata";

export const PARTITIONS_KEY = "cluster/partitions";

/** The number to use. Throws STO0003 when the stored value is malformed. */
export async function partitionCountOf(metadata: MetadataStore, setting: number, logger: Logger): Promise<number> {
  const count = await storedPartitionCount(metadata);
  if (count === undefined) {
    await metadata.write([{ kind: "put", key: PARTITIONS_KEY, value: { count: setting }, expectedVersion: 0 }]);
    return setting;
  }
  if (count !== setting)
    logger.info({ numPartitions: count, setting }, "the data directory keeps the number of partitions it was made with");
  return count;
}

/** Undefined at the first start. Throws STO0003 when the stored value is malformed. */
export async function storedPartitionCount(metadata: MetadataStore): Promise<number | undefined> {
  const stored = await metadata.get(PARTITIONS_KEY);
  if (stored === undefined) return undefined;
  const { count } = jsonFields(stored.value) ?? {};
  if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 1)
    throw new PerdureError("STO0003", `the metadata document '${PARTITIONS_KEY}' cannot be read`);
  return count;
}

/** Overwrites the stored number: only for data that do not belong to the metadata. */
export async function writePartitionCount(metadata: MetadataStore, count: number): Promise<void> {
  await metadata.write([{ kind: "put", key: PARTITIONS_KEY, value: { count }, expectedVersion: undefined }]);
}
