/** The operations that an agreement on the data set needs of the partitions in Redis: their number, and the mark of each. */
import { agreedPartitionCount, placeMarks, type RedisConnections, readMarks, storedPartitionCount } from "@perdure/redis";
import type { MarkedPartitions } from "./agreement.js";

export function markedPartitions(redis: RedisConnections, environment: string): MarkedPartitions {
  return {
    count: () => storedPartitionCount(redis, environment),
    agreeOnCount: (count) => agreedPartitionCount(redis, environment, count),
    marks: (count) => readMarks(redis, environment, count),
    place: (count, mark, replaces) => placeMarks(redis, environment, count, mark, replaces),
  };
}
