/** Memory that this process may use, in bytes: its heap limit, or the limit of its container when that is lower. */
import { getHeapStatistics } from "node:v8";

export function memoryBytesMax(): number {
  const heapBytes = getHeapStatistics().heap_size_limit;
  const containerBytes = process.constrainedMemory(); // 0: none; cgroups without a limit report more than any machine has.
  return containerBytes > 0 ? Math.min(heapBytes, containerBytes) : heapBytes;
}
