/** Makes garbage in a process that then has nothing to do, and ends when it was collected. argv: `heap` or `buffers`. */
import { getHeapStatistics } from "node:v8";
import { collectWhenIdle } from "../src/idle-collection.js";

const MIB = 1024 * 1024;
const POLL_MS = 500;

function fillHeap(): () => boolean {
  const made = Array.from({ length: 300_000 }, (_, n) => ({ n, text: `number ${n}` }));
  const full = getHeapStatistics().used_heap_size;
  console.log(`${made.length} objects`); // Reachable until here.
  return () => getHeapStatistics().used_heap_size <= full - 15 * MIB;
}

/** Outside the heap, whose size does not include them; V8 corrects its own count of them only at its next collection. */
function fillBuffers(): () => boolean {
  const made = Array.from({ length: 60 }, () => new Uint8Array(MIB).fill(1));
  const bytes = made.length * MIB;
  const full = process.memoryUsage().arrayBuffers; // Reachable until here.
  return () => process.memoryUsage().arrayBuffers <= full - 0.8 * bytes;
}

using _collection = collectWhenIdle();
const isCollected = process.argv[2] === "heap" ? fillHeap() : fillBuffers();
while (!isCollected()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
console.log("collected");
