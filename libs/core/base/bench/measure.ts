/**
 * The helper that all measurements of this package share. To run a bench, bundle it with esbuild (`--platform=node --format=esm`) and start
 * the result with node.
 */

const WARM_UP_MS = 150;
const ROUNDS = 20;
const ROUND_MS = 20;
const BATCH = 1000;

/**
 * Prints nanoseconds per call of `work`: the best of many short rounds, because the machine is shared. `work` returns a value so that the
 * engine does not optimise it away.
 */
export function measure(name: string, work: (i: number) => unknown): void {
  run(work, WARM_UP_MS);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) best = Math.min(best, run(work, ROUND_MS));
  console.log(`${name.padEnd(44)} ${best.toFixed(0).padStart(7)} ns/op`);
}

let sink: unknown;

function run(work: (i: number) => unknown, forMs: number): number {
  const start = performance.now();
  let calls = 0;
  let elapsed = 0;
  while (elapsed < forMs) {
    for (let i = 0; i < BATCH; i++) sink = work(calls + i);
    calls += BATCH;
    elapsed = performance.now() - start;
  }
  if (sink === measure) throw new Error("unreachable; keeps the results observable");
  return (elapsed * 1e6) / calls;
}
