/** Records as a crash or a bad disk leaves them: every byte of a log is torn, changed or missing once. */
import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { fromUtf8, utf8 } from "@perdure/base";
import { encodeSegmentHeader, LOG_ID_BYTES, SEGMENT_HEADER_BYTES, type SegmentHeader } from "./format.js";
import type { LogFile, LogFiles } from "./log-files.js";
import { checkLog, replayLog, segmentName } from "./read-log.js";
import { RecordEncoder, rowChanges } from "./row-changes.js";

const ID = randomBytes(LOG_ID_BYTES);
const SEGMENT_BYTES = SEGMENT_HEADER_BYTES + 400;

/** Files that are only read. */
class StoredFiles implements LogFiles {
  readonly contents = new Map<string, Buffer>();

  list = () => Promise.resolve([...this.contents.keys()]);
  read = (name: string) => Promise.resolve(this.contents.get(name) ?? Buffer.alloc(0));
  open = (): Promise<LogFile> => Promise.reject(new Error("only read"));
  rename = (): Promise<void> => Promise.reject(new Error("only read"));
  remove = (): Promise<void> => Promise.reject(new Error("only read"));
  sync = (): Promise<void> => Promise.reject(new Error("only read"));
}

let files: StoredFiles;
beforeEach(() => {
  files = new StoredFiles();
});

function segment(generation: number, options: { readonly id?: Uint8Array; readonly old?: Buffer } = {}): SegmentHeader {
  const content = { id: options.id ?? ID, generation, bytes: SEGMENT_BYTES, tag: 0x1000 + generation };
  const { bytes, crc } = encodeSegmentHeader(content);
  const file = options.old === undefined ? Buffer.alloc(SEGMENT_BYTES) : Buffer.from(options.old);
  file.set(bytes);
  files.contents.set(segmentName(generation), file);
  return { ...content, crc };
}

/** A record of `append` has 24 bytes of header, a put of 11 and a deletion of 7. */
const PADDING_BYTES = 6;
const encoder = new RecordEncoder();
/** Appends a record that sets the row `n` to its number; returns the position after it. */
function append(header: SegmentHeader, at: number, sequence: number): number {
  encoder.reset().put("n", utf8(`${sequence}`));
  encoder.del(`k${sequence}`);
  const record = encoder.seal(sequence, header);
  (files.contents.get(segmentName(header.generation)) as Buffer).set(record, at);
  return at + record.length;
}

async function replayed(): Promise<string[]> {
  const rows: string[] = [];
  await replayLog(files, ID, await checkLog(files, ID), async ({ sequence, payload }) => {
    for (const [key, value] of rowChanges(payload)) rows.push(`${sequence}:${key}=${value === undefined ? "" : fromUtf8(value)}`);
  });
  return rows;
}
const rowsOf = (...sequences: number[]): string[] => sequences.flatMap((n) => [`${n}:n=${n}`, `${n}:k${n}=`]);

/** Three records in the first segment, and their ends. */
function three(): { readonly ends: readonly number[]; readonly file: Buffer } {
  const header = segment(1);
  const ends = [SEGMENT_HEADER_BYTES];
  for (const n of [5, 6, 7]) ends.push(append(header, ends.at(-1) as number, n));
  return { ends, file: files.contents.get(segmentName(1)) as Buffer };
}

describe("reading the commit log", () => {
  test("records are returned in order, across segments and past unused ones", async () => {
    three();
    append(segment(2), SEGMENT_HEADER_BYTES, 8);
    segment(3);
    expect(await replayed()).toEqual(rowsOf(5, 6, 7, 8));
  });

  test("a log without records is empty", async () => {
    segment(1);
    segment(2);
    expect(await checkLog(files, ID)).toBe(0);
    expect(await replayed()).toEqual([]);
  });

  test("the last record torn after any byte ends the log, whatever the blocks held before", async () => {
    const { ends, file } = three();
    const [, , from, to] = ends as [number, number, number, number];
    const whole = Buffer.from(file);
    for (const rest of [Buffer.alloc(to - from), randomBytes(to - from)]) {
      for (let at = from; at < to; at++) {
        whole.copy(file);
        file.set(rest.subarray(at - from), at);
        const isSame = file.subarray(from, to).equals(whole.subarray(from, to));
        const rows = await replayed();
        expect(rows).toEqual(isSame || at >= to - PADDING_BYTES ? rowsOf(5, 6, 7) : rowsOf(5, 6));
      }
    }
  });

  test("any changed bit of the last record ends the log before it; of an earlier one it is damage", async () => {
    const { ends, file } = three();
    const [first, second, third, end] = ends as [number, number, number, number];
    // Padding is not part of a record.
    const isPadding = (at: number): boolean => [second, third, end].some((next) => at >= next - PADDING_BYTES && at < next);
    for (let at = first; at < end; at++) {
      for (const bit of [1, 128]) {
        file[at] = (file[at] as number) ^ bit;
        if (isPadding(at)) expect(await replayed()).toEqual(rowsOf(5, 6, 7));
        else if (at >= third) expect(await replayed()).toEqual(rowsOf(5, 6));
        else await expect(replayed()).rejects.toMatchObject({ code: "STO0006" });
        file[at] = (file[at] as number) ^ bit;
      }
    }
    expect(await replayed()).toEqual(rowsOf(5, 6, 7));
  });

  test("records that are missing between others are damage, also where a segment begins", async () => {
    const { ends, file } = three();
    file.fill(0, ends[1], ends[2]);
    await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0006", message: expect.stringContaining("1.log") });
    three();
    append(segment(2), SEGMENT_HEADER_BYTES, 9); // The record 8, the last one of the first segment, is missing.
    await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0006", message: expect.stringContaining("2.log") });
    const emptied = files.contents.get(segmentName(1)) as Buffer;
    emptied.fill(0, SEGMENT_HEADER_BYTES);
    await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0006" });
  });

  test("records of an earlier use of the file are not part of the log", async () => {
    const { file } = three();
    files.contents.clear();
    const header = segment(4, { old: file });
    expect(await replayed()).toEqual([]);
    append(header, SEGMENT_HEADER_BYTES, 8);
    expect(await replayed()).toEqual(rowsOf(8));
  });

  test("bytes of users that look like a later record do not make a torn record damage", async () => {
    const header = segment(1);
    const forged = new RecordEncoder();
    forged.put("n", utf8("99"));
    const copy = Buffer.from(forged.seal(99, { ...header, tag: 1, crc: 1 }));
    encoder.reset().put("n", copy);
    const record = encoder.seal(1, header);
    record[30] = (record[30] as number) ^ 1;
    (files.contents.get(segmentName(1)) as Buffer).set(record, SEGMENT_HEADER_BYTES);
    expect(await replayed()).toEqual([]);
  });

  test("any changed byte of a header that counts is damage, and so is another length", async () => {
    const { file } = three();
    for (let at = 0; at < 48; at++) {
      file[at] = (file[at] as number) ^ 4;
      await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0006" });
      file[at] = (file[at] as number) ^ 4;
    }
    for (const bytes of [0, 10, SEGMENT_HEADER_BYTES, SEGMENT_BYTES - 1]) {
      files.contents.set(segmentName(1), file.subarray(0, bytes));
      await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0006" });
    }
  });

  test("missing segments, and those of another log, are STO0007", async () => {
    await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0007" });
    three();
    segment(3);
    await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0007", message: expect.stringContaining("2.log") });
    segment(2, { id: randomBytes(LOG_ID_BYTES) });
    await expect(checkLog(files, ID)).rejects.toMatchObject({ code: "STO0007" });
  });
});
