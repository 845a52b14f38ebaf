/** Reads which partitions a key-value engine holds, before it is opened as a partition store. Reads a few keys and writes nothing. */
import { fromUtf8 } from "@perdure/base";
import { decodeNumber, encodeNumber } from "../codec/rows.js";
import { SOURCE_KEY } from "./action-meter.js";
import type { KeyValue } from "./key-value.js";
import { epochKey } from "./keys.js";

export interface StoredPartitions {
  /** Name of the data, created with them (`ActionMeter.source`); undefined in data of versions that had none. */
  readonly mark: string | undefined;
  /** Number of partitions that were ever led, which are all once a first start has finished; 0: nothing is stored. */
  readonly partitionCount: number;
  /** Number of times that an operator accepted that the metadata of these partitions were lost. */
  readonly acceptedLossCount: number;
}

/** Sorts before all partitions, like the keys of `ActionMeter`. */
const ACCEPTED_LOSSES_KEY = "!l";

export function storedPartitions(kv: Pick<KeyValue, "get">): StoredPartitions {
  const mark = kv.get(SOURCE_KEY);
  let partitionCount = 0;
  while (kv.get(epochKey(partitionCount)) !== undefined) partitionCount++;
  const losses = kv.get(ACCEPTED_LOSSES_KEY);
  return {
    mark: mark === undefined ? undefined : fromUtf8(mark),
    partitionCount,
    acceptedLossCount: losses === undefined ? 0 : decodeNumber(losses),
  };
}

/** Stores one more accepted loss than `stored` has; durable when it resolves. The caller must be the only writer. */
export async function countAcceptedLoss(kv: Pick<KeyValue, "write">, stored: StoredPartitions): Promise<void> {
  await kv.write(new Map([[ACCEPTED_LOSSES_KEY, encodeNumber(stored.acceptedLossCount + 1)]]));
}
