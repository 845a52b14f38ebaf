/** Records as files: JSON that another run is compared with, and the table beside it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./processes.js";
import { type BenchRecord, parseRecord } from "./record.js";

/** Kept with the sources, so that later builds are compared with it. */
const RECORDS = join(root, "libs/testing/conformance/bench/records");
/** Directory of records of short runs, whose figures mean nothing. */
const SHORT_RECORDS = join(root, ".cache/bench");

/** Writes the record and its table; returns the path without the extension. */
export function writeRecord(record: BenchRecord, text: string): string {
  const directory = record.isShort ? SHORT_RECORDS : RECORDS;
  mkdirSync(directory, { recursive: true });
  const path = join(
    directory,
    `${record.startedAt.replace(/\.\d+Z$/, "Z").replaceAll(":", "")}-${record.commit.replace("+", "")}`,
  );
  writeFileSync(`${path}.json`, `${JSON.stringify(record, undefined, 1)}\n`);
  writeFileSync(`${path}.md`, text);
  return path;
}

/** Records of full runs, the newest first. Throws when a file is none. */
export function readRecords(directory = RECORDS): readonly BenchRecord[] {
  const names = readNames(directory).filter((name) => name.endsWith(".json"));
  const records = names.map((name) => parseRecord(readFileSync(join(directory, name), "utf8"), name));
  return records.toSorted((a, b) => b.startedAt.localeCompare(a.startedAt));
}

function readNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cause;
  }
}
