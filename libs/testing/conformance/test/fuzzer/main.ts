/**
 * `make fuzz`: hostile connections to every listener of every program. CONNECTIONS: over all listeners; SEED repeats a run; FILTER: only
 * listeners whose names contain it. Exit code 1 with the seed and the connection when a program does not survive or does not recover.
 */

import { FuzzPlatform } from "./platform.js";
import { fuzzTarget, type TargetResult } from "./run.js";

const CONNECTIONS_DEFAULT = 10_000;
const SEEDS = 2 ** 32;

function numberOf(name: string, fallback: number): number {
  const text = process.env[name] ?? "";
  if (text === "") return fallback;
  if (!/^\d{1,15}$/.test(text)) throw new Error(`${name} must be a whole number, not '${text}'`);
  return Number(text);
}

const line = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const seed = numberOf("SEED", Math.floor(Math.random() * SEEDS));
  const total = numberOf("CONNECTIONS", CONNECTIONS_DEFAULT);
  const filter = process.env["FILTER"] ?? "";
  line(`seed ${seed}; starting every program …`);
  await using platform = await FuzzPlatform.start();
  const exact = platform.targets.filter(({ name }) => name === filter);
  const targets = exact.length > 0 ? exact : platform.targets.filter(({ name }) => name.includes(filter));
  const listening = targets.filter(({ port }) => port !== undefined);
  const each = Math.ceil(total / Math.max(1, listening.length));
  const results: TargetResult[] = [];
  let failed = 0;
  for (const target of targets) {
    try {
      const result = await fuzzTarget(target, { seed, connections: each, progress: line });
      results.push(result);
    } catch (cause) {
      failed++;
      line(`✗ ${(cause as Error).message}`);
      await target.subject.restart();
    }
  }
  show(results);
  line(failed === 0 ? `every program survived (seed ${seed})` : `${failed} listeners failed (seed ${seed})`);
  return failed === 0 ? 0 : 1;
}

function show(results: readonly TargetResult[]): void {
  const row = (...cells: readonly (string | number)[]): void => line(`| ${cells.join(" | ")} |`);
  row("listener", "connections", "seconds", "descriptors", "memory, MiB");
  row("---", "---:", "---:", "---:", "---:");
  for (const { target, connections, seconds, descriptors, memoryMiB } of results)
    row(target, connections, seconds.toFixed(1), descriptors.join(" → "), memoryMiB.join(" → "));
  row(
    "all",
    results.reduce((sum, { connections }) => sum + connections, 0),
    results.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(0),
    "",
    "",
  );
}

process.exit(await main());
