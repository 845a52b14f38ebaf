/** One run: rows × endpoints, its warnings, and its record. */
import { closeConnections } from "./calls.js";
import { Endpoint } from "./endpoints.js";
import { isQuiet, percent } from "./figures.js";
import { commit, load, machine, othersShare, versions } from "./machine.js";
import { type BenchRecord, newRecord, type RecordedRow } from "./record.js";
import { measureRow } from "./rounds.js";
import type { Row } from "./row.js";
import type { Settings } from "./settings.js";

/** Progress goes to the error stream, so that the output is the table alone. */
export const say = (text: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${text}`);

/** All rows with the first endpoint, then with the next. */
export async function measureRows(rows: readonly Row[], settings: Settings): Promise<BenchRecord> {
  const facts = {
    startedAt: new Date().toISOString(),
    commit: commit(),
    machine: machine(),
    versions: versions(),
    seconds: settings.seconds,
    isShort: settings.isShort,
    othersShare: await othersShare(),
    load: load(),
  };
  if (!isQuiet(facts.othersShare))
    say(
      `WARNING: the machine is not quiet: other processes use ${percent(facts.othersShare)} of its processors (load ${facts.load.toFixed(1)})`,
    );
  const measured: RecordedRow[] = [];
  for (const kind of settings.endpoints) {
    using endpoint = await Endpoint.start(kind);
    for (const row of rows) {
      const result = await measureRow(row, endpoint, settings, (text) => say(`${kind}: ${text}`));
      if (!isQuiet(result.othersShare))
        say(`WARNING: other processes used ${percent(result.othersShare)} of the processors during ${row.name}`);
      measured.push({ name: row.name, title: row.title, endpoint: kind, figures: row.figures, ...result });
    }
  }
  closeConnections();
  return newRecord({ ...facts, rows: measured });
}

export const hasFailed = ({ rows }: BenchRecord): boolean =>
  rows.some(({ servers }) => Object.values(servers).some(({ failure }) => failure !== undefined));
