import type { IntrospectionSource } from "../ports.js";

/** Numbers of all partitions. */
export function everyPartition({ partitionCount }: Pick<IntrospectionSource, "partitionCount">): readonly number[] {
  return Array.from({ length: partitionCount }, (_, partition) => partition);
}
