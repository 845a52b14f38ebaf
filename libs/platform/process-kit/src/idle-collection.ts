/**
 * Collects garbage when a process is idle. V8 collects the old generation only when it has grown, so garbage of a busy hour would stay
 * resident through a quiet night; with an early collection a machine holds more processes.
 */
import { performance } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { IdleChecks } from "./idle-checks.js";
import { IDLE_CHECK_MS, LARGE_GARBAGE_BYTES, LARGE_GROWTH_BYTES, LARGE_GROWTH_MS } from "./limits.js";

/** Starts the checks for this process, until disposed of. The timer does not keep the process running. */
export function collectWhenIdle(): Disposable {
  let atMs = performance.now();
  let cpu = process.cpuUsage();
  let collect: (() => void) | undefined;
  const checks = new IdleChecks({
    // Not by how long the event loop took: on a busy machine it waits in the middle of things that are nothing.
    busy: () => {
      const nowMs = performance.now();
      const { user, system } = process.cpuUsage(cpu);
      const share = (user + system) / 1_000 / Math.max(nowMs - atMs, 1);
      atMs = nowMs;
      cpu = process.cpuUsage();
      return share;
    },
    oldBytes: () => {
      // A buffer outside the heap is freed when the collector finds its small object: what arrived in large messages waits there.
      let bytes = getHeapStatistics().external_memory;
      for (const { space_name: name, space_used_size: used } of getHeapSpaceStatistics())
        if (name === "old_space" || name === "large_object_space") bytes += used;
      return bytes;
    },
    collect: () => {
      collect ??= exposedCollector();
      collect();
    },
  });
  const timer = setInterval(() => checks.check(), IDLE_CHECK_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/**
 * Receives the bytes of large buffers that have become garbage, and collects the young generation when they are many: V8 waits until it
 * collects everything. While large buffers are allocated and freed it also lets the old generation grow by more between two full
 * collections: V8 counts the contents of such buffers as growth of the old generation, so a small process with large payloads would run a
 * full collection for every second one.
 */
export function largeGarbage(
  collectYoung: () => void = youngCollector(),
  growth: HeapGrowth | undefined = heapGrowth(),
): (bytes: number) => void {
  let garbageBytes = 0;
  return (bytes) => {
    growth?.largeBuffers();
    const isDue = garbageBytes >= LARGE_GARBAGE_BYTES;
    garbageBytes += bytes;
    if (isDue || garbageBytes < LARGE_GARBAGE_BYTES) return;
    // Later, when nothing on the stack refers to them.
    setImmediate(() => {
      garbageBytes = 0;
      collectYoung();
    });
  };
}

const GROWTH_FLAG = "--heap-growing-percent=";

/** The growth of the old generation between two full collections; undefined where V8 decides that by itself. */
function heapGrowth(): HeapGrowth | undefined {
  const flag = process.execArgv.find((argument) => argument.startsWith(GROWTH_FLAG));
  if (flag === undefined) return undefined;
  const usedBytes = (): number => getHeapStatistics().used_heap_size;
  return new HeapGrowth(
    Number(flag.slice(GROWTH_FLAG.length)),
    (percent) => setFlagsFromString(`${GROWTH_FLAG}${percent}`),
    usedBytes,
  );
}

/** Raises the growth while large buffers are allocated and freed, and resets it afterwards. The timer does not keep the process running. */
export class HeapGrowth {
  readonly #percent: number;
  readonly #set: (percent: number) => void;
  readonly #usedBytes: () => number;
  /** Runs while the growth is raised. */
  #raised: NodeJS.Timeout | undefined;

  /** `percent` holds at other times; `set` changes it for collections from now on. */
  constructor(percent: number, set: (percent: number) => void, usedBytes: () => number) {
    this.#percent = percent;
    this.#set = set;
    this.#usedBytes = usedBytes;
  }

  largeBuffers(): void {
    if (this.#raised !== undefined) return void this.#raised.refresh();
    const percent = Math.round((LARGE_GROWTH_BYTES / this.#usedBytes()) * 100);
    if (percent <= this.#percent) return;
    this.#set(percent);
    this.#raised = setTimeout(() => {
      this.#raised = undefined;
      this.#set(this.#percent);
    }, LARGE_GROWTH_MS).unref();
  }
}

function youngCollector(): () => void {
  let collect: ((options: { readonly type: "minor" }) => void) | undefined;
  return () => {
    collect ??= exposedCollector();
    collect({ type: "minor" });
  };
}

/** Node hands it out only to programs that were started for it, and to contexts that are made after the flag was set. */
function exposedCollector(): (options?: { readonly type: "minor" }) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;
}
