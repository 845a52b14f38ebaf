/**
 * Measures the scheduler, which works between two commits of a partition, with a hundred thousand waiting invocations.
 *
 * Run: `node deploy/run-ts.mjs libs/core/flow-control/bench/flow.bench.ts`.
 */
import type { InvocationId } from "@perdure/base";
import { type FlowRule, FlowScheduler, type FlowSubject, RuleBook } from "../src/index.js";

const rule = (pattern: string, concurrency: number | undefined, rate?: FlowRule["rate"]): FlowRule => ({
  pattern,
  concurrency,
  rate,
  weight: 1,
  priority: undefined,
  disabled: false,
});

function measure(name: string, keys: number, entries: number): void {
  const book = new RuleBook([rule("*", 500), rule("*/*", 50, { limit: 1_000_000, periodMs: 1_000, burst: 1_000 })]);
  const scheduler = new FlowScheduler(book);
  const subject = (n: number): FlowSubject => ({
    id: `i${n}` as InvocationId,
    service: "S",
    scope: "s1",
    limitKey: `k${n % keys}`,
    priority: 3,
  });
  const time = (what: string, count: number, task: () => void): void => {
    const before = performance.now();
    task();
    const micros = ((performance.now() - before) * 1_000) / count;
    console.log(`${name}: ${what}: ${micros.toFixed(2)} µs each`);
  };
  const heapBefore = process.memoryUsage().heapUsed;
  time("request", entries, () => {
    for (let n = 0; n < entries; n++) scheduler.request(subject(n), n, false);
  });
  console.log(`${name}: ${((process.memoryUsage().heapUsed - heapBefore) / entries).toFixed(0)} bytes each, uncollected`);
  let nowMs = 1_000_000;
  let admitted = 0;
  time("admit, start and leave", entries, () => {
    while (admitted < entries) {
      const admissions = scheduler.admit(nowMs++);
      for (const { id } of admissions) scheduler.started(subject(Number(id.slice(1))));
      for (const { id } of admissions) scheduler.left(id);
      admitted += admissions.length;
    }
  });
}

for (let round = 0; round < 2; round++) {
  measure("1 key, 100,000 waiting", 1, 100_000);
  measure("1,000 keys, 100,000 waiting", 1_000, 100_000);
  measure("100,000 keys, 100,000 waiting", 100_000, 100_000);
}
