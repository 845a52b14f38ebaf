/**
 * `node deploy/testing/sum.mjs <sums> <counts>`: adds up the tiers of one run (the lines that run.mjs writes), names flakes and broken suites,
 * and writes `<passed> <failed>` to the second file. Flakes beyond `FLAKES_MAX` count as failures.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { FLAKES_MAX } from "./second-look.mjs";

/** Lines of a flake's first failure that are shown. */
const FAILURE_LINES_MAX = 30;

const [sumsFile, countsFile] = process.argv.slice(2);
const tiers = readFileSync(sumsFile, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const flakes = tiers.flatMap((tier) => tier.flakes);
const broken = tiers.flatMap((tier) => tier.broken);
let passed = 0;
let failed = 0;
for (const tier of tiers) {
  passed += tier.passed;
  failed += tier.failed;
  console.log(`${tier.tiers}: ${tier.passed} passed, ${tier.failed} failed in ${Math.round(tier.ms / 1000)} s`);
}
for (const name of broken) console.log(`FAILED ${name}`);
for (const { name, failure } of flakes) {
  console.log(`FLAKE ${name}: failed, and passed when it was run once more. It failed with:`);
  console.log(failure.trim().split("\n").slice(0, FAILURE_LINES_MAX).join("\n"));
}
if (flakes.length > 0) console.log(`Flakes: ${flakes.map(({ name }) => name).join(" ")}`);
if (flakes.length > FLAKES_MAX) {
  console.log(`${flakes.length} flakes are more than the ${FLAKES_MAX} that a run may have: each beyond counts as a failure`);
  failed += flakes.length - FLAKES_MAX;
}
writeFileSync(countsFile, `${passed} ${failed}\n`);
