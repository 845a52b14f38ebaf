/**
 * A log of commits in preallocated files. Appending to a file whose blocks are written already changes no metadata of the file system, so
 * that the sync of a commit is one write of the disk and not a commit of the file system's journal, too.
 *
 *     segment n − 1  full: its file becomes n + 1 once LevelDB has all its commits in tables
 *     segment n      the present one
 *     segment n + 1  prepared when n is half full
 */
import { randomBytes, randomInt } from "node:crypto";
import { encodeSegmentHeader, LOG_ID_BYTES, SEGMENT_HEADER_BYTES, type SegmentHeader } from "./format.js";
import { FIRST_SEGMENT_BYTES, PREPARE_AT, SEGMENT_BYTES_LIMIT, SEGMENT_BYTES_MIN } from "./limits.js";
import type { LogFile, LogFiles } from "./log-files.js";
import { generationsIn, segmentName } from "./read-log.js";
import { RecordEncoder } from "./row-changes.js";

/** A file of an earlier use, not part of the log. Its blocks are written, so it is used before new ones are made. */
export const SPARE = "spare";
const TAG_MAX = 0xffff_ffff;

interface Segment extends SegmentHeader {
  readonly file: LogFile;
}

export interface CommitLogOptions {
  readonly segmentBytesMax: number;
  /** Makes every commit durable that was appended before, without the log. */
  readonly checkpoint: () => Promise<void>;
}

export class CommitLog {
  readonly id: Uint8Array;
  readonly #files: LogFiles;
  readonly #options: CommitLogOptions;
  readonly #maker: SegmentMaker;
  #current: Segment;
  #position = SEGMENT_HEADER_BYTES;
  #sequence = 0;
  #next: Promise<Segment> | undefined;
  /** Full segments that are freed by a checkpoint. */
  #retiring: Promise<void> = Promise.resolve();

  private constructor(files: LogFiles, options: CommitLogOptions, maker: SegmentMaker, first: Segment) {
    this.id = maker.id;
    this.#files = files;
    this.#options = options;
    this.#maker = maker;
    this.#current = first;
  }

  /** Starts an empty log; files of an earlier one are used again. Rejects with the error of the file system. */
  static async start(files: LogFiles, options: CommitLogOptions): Promise<CommitLog> {
    const earlier = await generationsIn(files);
    for (const generation of earlier) await files.rename(segmentName(generation), SPARE);
    if (earlier.length > 0) await files.sync();
    const maker = new SegmentMaker(files, options.segmentBytesMax);
    return new CommitLog(files, options, maker, await maker.make(1));
  }

  /** Whether the present segment has space for a record of this size. */
  fits(recordBytes: number): boolean {
    return this.#position + recordBytes <= this.#current.bytes;
  }

  /**
   * Continues in a segment with space for a record of this size, and begins to free the full one. Call it only while no append is under way.
   * Resolves with the error when no segment can be allocated: the log is as before then. Rejects when a checkpoint failed.
   */
  async rotate(recordBytes: number): Promise<Error | undefined> {
    await this.#retiring;
    const full: Segment[] = [];
    while (!this.fits(recordBytes)) {
      const generation = this.#current.generation + 1;
      let next: Segment;
      try {
        next = await (this.#next ?? this.#maker.make(generation, SEGMENT_HEADER_BYTES + recordBytes));
      } catch (cause) {
        this.#next = undefined;
        if (full.length > 0) this.#retire(full);
        return cause instanceof Error ? cause : new Error(String(cause));
      }
      this.#next = undefined;
      // No segment may be empty that a used one follows: its records would seem to be damaged.
      if (this.#position === SEGMENT_HEADER_BYTES) await this.append(new RecordEncoder());
      full.push(this.#current);
      this.#current = next;
      this.#position = SEGMENT_HEADER_BYTES;
    }
    this.#retire(full);
    return undefined;
  }

  /** Appends a record that fits, durable when it resolves. One at a time. After a rejection the log must not be used. */
  async append(encoder: RecordEncoder): Promise<void> {
    const record = encoder.seal(this.#sequence + 1, this.#current);
    const at = this.#position;
    this.#sequence++;
    this.#position += record.length;
    await this.#current.file.write(record, at);
    if (this.#next === undefined && this.#position > PREPARE_AT * this.#current.bytes) {
      const generation = this.#current.generation + 1;
      this.#next = this.#retiring.then(() => this.#maker.make(generation));
      this.#next.catch(() => undefined); // `rotate` returns the error.
    }
  }

  /** Ends work in the background and closes all files. They stay, and belong to no log once the database does not name this one. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#retiring.catch(() => undefined);
    const next = await this.#next?.catch(() => undefined);
    await next?.file[Symbol.asyncDispose]();
    await this.#current.file[Symbol.asyncDispose]();
  }

  #retire(segments: readonly Segment[]): void {
    this.#retiring = this.#free(segments);
    this.#retiring.catch(() => undefined); // `rotate` rejects with the error.
  }

  async #free(segments: readonly Segment[]): Promise<void> {
    await this.#options.checkpoint();
    for (const segment of segments) {
      await segment.file[Symbol.asyncDispose]();
      await this.#files.rename(segmentName(segment.generation), SPARE);
      // Before the next one: a power cut that loses only the older name of two would leave a gap. Also before the file gets another header.
      await this.#files.sync();
    }
  }
}

/** Makes the segments of a log, each twice as large as the one before. */
class SegmentMaker {
  readonly id: Uint8Array = randomBytes(LOG_ID_BYTES);
  readonly #files: LogFiles;
  readonly #bytesMax: number;
  #nextBytes: number;

  constructor(files: LogFiles, bytesMax: number) {
    this.#files = files;
    this.#bytesMax = Math.min(Math.max(bytesMax, SEGMENT_BYTES_MIN), SEGMENT_BYTES_LIMIT);
    this.#nextBytes = Math.min(FIRST_SEGMENT_BYTES, this.#bytesMax);
  }

  /** A segment of at least these bytes, without records, durable with its name. */
  async make(generation: number, neededBytes = 0): Promise<Segment> {
    const bytesMin = Math.max(this.#nextBytes, neededBytes);
    const file = await this.#files.open(SPARE);
    try {
      let bytes = await file.size();
      if (bytes < bytesMin || bytes > Math.max(bytesMin, this.#bytesMax)) {
        await file.fill(bytesMin);
        bytes = bytesMin;
      }
      const content = { id: this.id, generation, bytes, tag: randomInt(1, TAG_MAX) };
      const { bytes: header, crc } = encodeSegmentHeader(content);
      await file.write(header, 0);
      await this.#files.rename(SPARE, segmentName(generation));
      await this.#files.sync();
      this.#nextBytes = Math.min(2 * bytes, this.#bytesMax);
      return { ...content, crc, file };
    } catch (cause) {
      await file[Symbol.asyncDispose]();
      await this.#files.remove(SPARE).catch(() => undefined); // A full disk gets its space back.
      throw cause;
    }
  }
}
