/**
 * Reads the records of a log after a crash, oldest first. One record is written at a time, so only the last one can be incomplete: a record
 * that is not intact ends the log, unless an intact one follows it. Then stored data is damaged.
 */
import { PerdureError } from "@perdure/base";
import {
  decodeSegmentHeader,
  findRecord,
  type LogRecord,
  readRecord,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from "./format.js";
import type { LogFiles } from "./log-files.js";

const SEGMENT_NAME = /^([0-9]+)\.log$/;

export const segmentName = (generation: number): string => `${generation}.log`;

/** Generations of the segments in the directory, ascending. */
export async function generationsIn(files: LogFiles): Promise<number[]> {
  const generations: number[] = [];
  for (const name of await files.list()) {
    const match = SEGMENT_NAME.exec(name);
    if (match !== null) generations.push(Number(match[1]));
  }
  return generations.sort((a, b) => a - b);
}

/**
 * Checks the whole log and resolves with the number of its last record; 0 when it is empty. Rejects with STO0007 when segments are missing
 * or belong to another log, STO0006 when one is damaged. Changes nothing.
 */
export async function checkLog(files: LogFiles, id: Uint8Array): Promise<number> {
  const generations = await generationsIn(files);
  checkGenerations(generations);
  return walk(files, generations, id);
}

/** Calls `take` with each record of a checked log, in order, up to the last one. One segment is in memory at a time. */
export async function replayLog(
  files: LogFiles,
  id: Uint8Array,
  last: number,
  take: (record: LogRecord) => Promise<void>,
): Promise<void> {
  if (last > 0) await walk(files, await generationsIn(files), id, take, last);
}

function checkGenerations(generations: readonly number[]): void {
  const [first] = generations;
  if (first === undefined) {
    throw new PerdureError(
      "STO0007",
      "the commit log has no segments, but the database needs one. Bring the whole directory back.",
    );
  }
  for (const [index, generation] of generations.entries()) {
    if (generation === first + index) continue;
    throw new PerdureError(
      "STO0007",
      `segment ${segmentName(first + index)} of the commit log is missing, but later ones are present`,
    );
  }
}

/** Calls `take` with each record up to the number `last`; resolves with the number of the last intact record. */
async function walk(
  files: LogFiles,
  generations: readonly number[],
  id: Uint8Array,
  take?: (record: LogRecord) => Promise<void>,
  last = Number.POSITIVE_INFINITY,
): Promise<number> {
  /** Number of the latest record; 0 before the first. */
  let sequence = 0;
  let empty: string | undefined;
  for (const generation of generations) {
    if (sequence >= last) break;
    const name = segmentName(generation);
    const bytes = await files.read(name);
    const header = headerOf(name, bytes, generation, id);
    let at = SEGMENT_HEADER_BYTES;
    for (;;) {
      const record = readRecord(bytes, at, header);
      if (record === undefined || (sequence > 0 && record.sequence !== sequence + 1)) break;
      // The writer leaves no segment empty that a used one follows.
      if (empty !== undefined) throw damage(empty, SEGMENT_HEADER_BYTES);
      await take?.(record);
      ({ sequence, end: at } = record);
    }
    if (findRecord(bytes, at, header) !== undefined) throw damage(name, at);
    if (at === SEGMENT_HEADER_BYTES) empty ??= name;
  }
  return sequence;
}

function headerOf(name: string, bytes: Uint8Array, generation: number, id: Uint8Array): SegmentHeader {
  const header = decodeSegmentHeader(bytes);
  if (header === undefined || header.generation !== generation || header.bytes !== bytes.length)
    throw new PerdureError("STO0006", `segment ${name} of the commit log has a damaged header or another length`);
  if (!Buffer.from(header.id).equals(id))
    throw new PerdureError("STO0007", `segment ${name} of the commit log belongs to another database`);
  return header;
}

function damage(name: string, at: number): PerdureError {
  return new PerdureError(
    "STO0006",
    `a record of the commit log is damaged or missing, at byte ${at} of ${name}, and later ones are intact`,
  );
}
