/**
 * What a cell full of environments costs its operator: `run-ts services/operator/bench/main.ts COUNT PER_SECOND`. Progress on stderr, the
 * figures as one line of JSON on stdout. Bundle the operator before.
 */
import { measureCrowd } from "../test/measured-crowd.js";

const HOUR_MS = 3_600_000;
const QUIET_MS = 60_000;

const [count = 500, perSecond = 100] = process.argv.slice(2).map(Number);
const figures = await measureCrowd({
  count,
  perSecond,
  readyWithinMs: HOUR_MS,
  quietMs: QUIET_MS,
  report: (line) => console.error(line),
});
console.log(JSON.stringify(figures));
