/** Makes garbage in a process that then has nothing to do, and ends when it was collected. argv: `heap` or `buffers`. */
import { getHeapStatistics } from "node:v8";
import { collectWhenIdle } from "../src/idle-collection.js";

const MIB = 1024 * 1024;
const POLL_MS = 100;

function fillHeap(): () => boolean {
  const made = Array.from({ length: 300_000 }, (_, n) => ({ n, text: `number ${n}` }));
  const full = getHeapStatistics().used_heap_size;
  console.log(`${made.length} objects`);
  return () => getHeapStatistics().used_heap_size <= full - 15 * MIB;
}

/** Outside the heap, whose size does not show them. */
function fillBuffers(): () => boolean {
  const bytes = Array.from({ length: 60 }, () => new Uint8Array(MIB).fill(1)).length * MIB;
  const full = getHeapStatistics().external_memory;
  return () => getHeapStatistics().external_memory <= full - 0.8 * bytes;
}

using _collection = collectWhenIdle();
const isCollected = process.argv[2] === "heap" ? fillHeap() : fillBuffers();
while (!isCollected()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
console.log("collected");
