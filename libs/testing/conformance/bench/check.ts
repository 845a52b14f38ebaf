/**
 * `make bench-check`: measures rows and fails when an invocation costs over a tenth more CPU than in the last record. Exit code 0 when none
 * does, 1 when one does or a row failed, 2 when there is no record to compare with.
 */
import { compare, comparisonTable, hasGrown } from "./harness/compare.js";
import { machine } from "./harness/machine.js";
import { readRecords } from "./harness/record-files.js";
import { report } from "./harness/report.js";
import { hasFailed, measureRows, say } from "./harness/run.js";
import { settingsIn } from "./harness/settings.js";
import { ROWS, selectRows } from "./rows/index.js";

const records = readRecords();
if (records.length === 0) {
  console.error("there is no record to compare with: run `make bench` on a quiet machine first");
  process.exit(2);
}
const here = machine();
const isSameMachine = records.some((record) => record.machine.model === here.model && record.machine.cpus === here.cpus);
// The reference is needed only where values cannot be compared; the cheap endpoint shows the server's own cost.
const defaults = { ENDPOINT: "rust", SERVERS: isSameMachine ? "perdure" : "perdure,reference" };
const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ""));
const settings = settingsIn({ ...defaults, ...given });
const rows = settings.patterns.length === 0 ? ROWS.filter(({ isChecked }) => isChecked === true) : selectRows(settings.patterns);
const run = await measureRows(rows, settings);
const comparisons = compare(run, records);
console.log(report(run));
console.log(comparisonTable(comparisons));
const grown = comparisons.filter(hasGrown);
for (const { row, figure, commit } of grown) say(`${row}: ${figure} has grown by more than a tenth since ${commit}`);
if (comparisons.every(({ growth }) => growth === undefined)) {
  console.error("no record has any of these rows: run `make bench` with them on a quiet machine first");
  process.exit(2);
}
process.exit(grown.length > 0 || hasFailed(run) ? 1 : 0);
