/**
 * Detects that Redis lost its data or was replaced: an empty Redis looks like a new environment whose counters begin at zero. Each
 * partition carries the mark of its data set, a random name that PostgreSQL stores too, and the scripts that lease, claim and commit
 * compare it. The mark is in the hash of the epoch, because in a Redis Cluster a script can only read the keys of one partition.
 */

import { present } from "@perdure/base";
import type { RedisConnections } from "./connect.js";
import { environmentPrefix, partitionPrefix } from "./keys.js";
import { INSTANCE_EPOCHS } from "./limits.js";
import type { RedisCommand } from "./link.js";
import { bytesReply } from "./replies.js";
import { markScript } from "./scripts.js";

/** Stands for any data set, or for none, in the arguments of scripts. */
export const NO_MARK = "";

/** The data set that a worker expects in all partitions. */
export interface ExpectedDataSet {
  /** Mark that each partition must carry. May change while the worker runs. */
  readonly id: string;
  /**
   * Called with the marks that were read: of all partitions in their order, or of the one partition that was refused. Undefined: no mark.
   */
  onMarks(marks: readonly (string | undefined)[]): void;
}

/** The data before, which a new data set replaces. */
export interface ReplacedData {
  /** Highest epoch that a leader of any data set before may have begun with. */
  readonly epochBase: number;
  /** Name under which the partitions begin again (`worker.incarnation`). */
  readonly instance: string;
}

export type PlacedMarks =
  /** Every partition carries the mark. */
  | { readonly kind: "placed"; readonly epochMax: number }
  /** A partition carries another one; later partitions were not touched. */
  | { readonly kind: "foreign"; readonly mark: string };

/** Marks of the partitions in their order; undefined for one without. Rejects with STO0001 when Redis does not answer. */
export async function readMarks(
  redis: RedisConnections,
  environment: string,
  partitionCount: number,
): Promise<readonly (string | undefined)[]> {
  const read = async (partition: number): Promise<string | undefined> => {
    const command: RedisCommand = ["HGET", `${partitionPrefix(redis, environment, partition)}epoch`, "mark"];
    const [reply] = await redis.reads.request([command]);
    return bytesReply(present(reply))?.toString();
  };
  return Promise.all(Array.from({ length: partitionCount }, (_, partition) => read(partition)));
}

/**
 * Gives every partition the mark, one after the other; a repetition changes nothing. With `replaces`, marks of other data sets are
 * replaced: the lease of such a partition ends, and its epoch becomes higher than any earlier one. Rejects with STO0001.
 */
export async function placeMarks(
  redis: RedisConnections,
  environment: string,
  partitionCount: number,
  mark: string,
  replaces?: ReplacedData,
): Promise<PlacedMarks> {
  const { epochBase = 0, instance = "" } = replaces ?? {};
  const args = [mark, replaces === undefined ? 0 : 1, epochBase, INSTANCE_EPOCHS, instance];
  let epochMax = 0;
  for (let partition = 0; partition < partitionCount; partition++) {
    const prefix = partitionPrefix(redis, environment, partition);
    const call = { script: markScript, keys: [`${prefix}epoch`, `${prefix}lease`], args };
    const reply = (await redis.commits.one(call, { replicated: true })) as readonly [1, number] | readonly [0, Buffer];
    if (reply[0] === 0) return { kind: "foreign", mark: reply[1].toString() };
    epochMax = Math.max(epochMax, reply[1]);
  }
  return { kind: "placed", epochMax };
}

/** The number of partitions that is stored in Redis; undefined when none is stored. Writes nothing. */
export async function storedPartitionCount(redis: RedisConnections, environment: string): Promise<number | undefined> {
  const stored = bytesReply(await redis.reads.one(["GET", `${environmentPrefix(redis, environment)}partitions`]));
  const count = Number(stored ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : undefined;
}
