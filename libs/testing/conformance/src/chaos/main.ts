/**
 * `make chaos MINUTES=10 SEED=n`: random faults. `FAULT=text TIMES=n` plays those with the text in their names, n times each, one by one,
 * and prints the duration of interruptions. Exit code 1 when something was lost, happened twice or did not end.
 */
import { FAULTS, type Fault } from "./faults.js";
import { runChaos } from "./rig.js";
import type { ChaosStage } from "./stage.js";
import { tableOf } from "./table.js";

const env = (name: string): string | undefined => process.env[name] || undefined;
const seed = Number(env("SEED") ?? Math.floor(Math.random() * 1e9));
const minutes = Number(env("MINUTES") ?? 10);
const requestedFault = env("FAULT");
const times = Number(env("TIMES") ?? 3);
const callers = Number(env("CALLERS") ?? 300);

const startedMs = performance.now();
const print = (line: string): void =>
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(1).padStart(7)} s  ${line}`);

// Exiting in this way ends the cluster too.
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(130));

const chosen = requestedFault === undefined ? [] : FAULTS.filter(({ name }) => name.includes(requestedFault));
if (requestedFault !== undefined && chosen.length === 0) throw new Error(`there is no fault like '${requestedFault}'`);
const plan = chosen.flatMap((fault) => Array.from({ length: times }, () => fault));
const byChance = ({ random }: ChaosStage): Fault | undefined =>
  performance.now() - startedMs < minutes * 60_000 ? random.pick(FAULTS) : undefined;

console.log(
  `chaos with seed ${seed}, ${callers} callers${requestedFault === undefined ? `, ${minutes} minutes` : `, ${plan.length} faults`}`,
);
const report = await runChaos({
  seed,
  callers,
  next: requestedFault === undefined ? byChance : (_, played) => plan[played],
  briefly: requestedFault === undefined,
  pauseMs: requestedFault === undefined ? 4_000 : 1_000,
  oneByOne: requestedFault !== undefined,
  print,
});
console.log(`\n${tableOf(report.faults)}\n`);
print(
  Object.entries(report.counts)
    .map(([what, n]) => `${n} ${what}`)
    .join(", "),
);
for (const violation of report.violations) console.log(`VIOLATION: ${violation}`);
console.log(report.violations.length === 0 ? `seed ${seed} held` : `seed ${seed} broke; replay with SEED=${seed}`);
process.exit(report.violations.length === 0 ? 0 : 1);
