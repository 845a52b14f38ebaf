/** `make bench`: measures the rows, prints the table, and records both. Exit code 1 when a row failed. */
import { writeRecord } from "./harness/record-files.js";
import { report } from "./harness/report.js";
import { hasFailed, measureRows, say } from "./harness/run.js";
import { settingsIn } from "./harness/settings.js";
import { selectRows } from "./rows/index.js";

const settings = settingsIn(process.env);
const rows = selectRows(settings.patterns);
if (process.env["LIST"] === "1") {
  for (const { name, title } of rows) console.log(`${name.padEnd(30)}${title}`);
  process.exit(0);
}
const record = await measureRows(rows, settings);
const text = report(record);
console.log(text);
say(`recorded in ${writeRecord(record, text)}.json`);
process.exit(hasFailed(record) ? 1 : 0); // Idle connections of fetch would keep the process for a while.
