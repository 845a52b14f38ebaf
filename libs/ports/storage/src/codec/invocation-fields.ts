/**
 * Reads single fields of stored invocations. Introspection needs few fields of very many rows, and decoding whole objects costs ten
 * times as much. This reader notes where the common fields of a row begin; texts stay bytes until they are read. Counting by status
 * reads the first byte and most lists read the facts, so a row is scanned in two parts, each when one of its fields is read. The fields
 * are those that `invocation.ts` writes.
 */
import { fromUtf8, fromUtf8Strict, type InvocationId } from "@perdure/base";
import type { Invocation, ServiceType, Source } from "@perdure/state-machine";
import { decodeInvocation, statusOf, withoutCutResult } from "./invocation.js";

/** A text of the row: its bytes are at `start`…`end`. Missing: `start` is −1. */
export interface TextField {
  start: number;
  end: number;
}

const SERVICE_TYPES: readonly ServiceType[] = ["service", "virtualObject", "workflow"];

/** Number of cached names. Services, handlers and deployments are few; names with the same hash replace each other. A power of two. */
const NAMES = 256;

/** Reads one row at a time; values read from a row are valid until the next `load`. */
export class InvocationFields {
  row: Uint8Array = new Uint8Array(0);
  readonly #facts = new FactFields();
  readonly #progress = new ProgressFields();
  readonly #names: ({ readonly bytes: Uint8Array; readonly text: string } | undefined)[] = new Array(NAMES).fill(undefined);
  #decoded: Invocation | undefined;
  #hasFacts = false;
  #hasProgress = false;

  /** `row` is a row of `encodeInvocation`, or the first part of one with a large result; bytes beyond the end count as zero. */
  load(row: Uint8Array): void {
    this.row = row;
    this.#decoded = undefined;
    this.#hasFacts = false;
    this.#hasProgress = false;
  }

  get status(): Invocation["status"] | undefined {
    return statusOf(this.row);
  }

  get invocationId(): InvocationId {
    return this.text(this.facts.id) as InvocationId;
  }

  /** Returns the fields that never change. */
  get facts(): FactFields {
    if (!this.#hasFacts) {
      this.#hasFacts = true;
      this.#facts.read(this.row);
    }
    return this.#facts;
  }

  /** Returns the fields of its progress. */
  get progress(): ProgressFields {
    if (!this.#hasProgress) {
      this.#hasProgress = true;
      this.#progress.read(this.row);
    }
    return this.#progress;
  }

  text({ start, end }: TextField): string {
    return start < 0 ? "" : (fromUtf8Strict(this.row, start, end) ?? fromUtf8(this.row.subarray(start, end)));
  }

  /** Decodes a text that has few different values, which costs a comparison of bytes when an earlier row had the same. */
  name(field: TextField): string {
    const { start, end } = field;
    if (start < 0) return "";
    const { row } = this;
    const slot = ((row[end - 1] ?? 0) * 31 + (row[start] ?? 0) * 7 + end - start) & (NAMES - 1);
    const cached = this.#names[slot];
    if (cached !== undefined && stands(cached.bytes, row, start, end)) return cached.text;
    const text = this.text(field);
    this.#names[slot] = { bytes: row.slice(start, end), text };
    return text;
  }

  /** Decodes the whole invocation, for fields that have no accessor here; decoded once per row. A result that was cut off is empty. */
  decoded(): Invocation {
    this.#decoded ??= decodeInvocation(withoutCutResult(this.row));
    return this.#decoded;
  }
}

function stands(bytes: Uint8Array, row: Uint8Array, start: number, end: number): boolean {
  if (bytes.length !== end - start) return false;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== row[start + i]) return false;
  return true;
}

/** A cursor over the bytes of a row. */
class RowCursor {
  protected row: Uint8Array = new Uint8Array(0);
  protected at = 0;

  protected text(into: TextField): void {
    const size = this.number();
    into.start = this.at;
    this.at += size;
    into.end = this.at;
  }

  /** Reads a varint; values above 2⁵³−1 become that. */
  protected number(): number {
    const { row } = this;
    let byte = row[this.at++] ?? 0;
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    for (let i = 1; i < 10; i++) {
      byte = row[this.at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) break;
      scale *= 128;
    }
    return Math.min(value, Number.MAX_SAFE_INTEGER);
  }

  protected skip(wireType: number): void {
    if (wireType === 0) this.number();
    else if (wireType === 2) {
      const size = this.number();
      this.at += size;
    } else this.at += wireType === 1 ? 8 : 4;
  }
}

class FactFields extends RowCursor {
  readonly id: TextField = { start: -1, end: -1 };
  readonly scope: TextField = { start: -1, end: -1 };
  readonly service: TextField = { start: -1, end: -1 };
  readonly key: TextField = { start: -1, end: -1 };
  readonly handler: TextField = { start: -1, end: -1 };
  readonly idempotencyKey: TextField = { start: -1, end: -1 };
  readonly limitKey: TextField = { start: -1, end: -1 };
  serviceType: ServiceType = "service";
  sourceKind: Source["kind"] = "ingress";
  createdAtMs = 0;
  completionRetentionMs = 0;
  journalRetentionMs = 0;
  /** −1 when the row has none. */
  executionTimeMs = -1;
  /** Several sends may have become the invocation. */
  hasDebounce = false;
  /** The invocation delivers an event, or is called by the handler of one. */
  hasEvent = false;

  read(row: Uint8Array): void {
    this.row = row;
    this.#reset();
    this.at = 1;
    while (this.at < row.length) {
      const tag = this.number();
      if (tag >>> 3 === 1) {
        const size = this.number();
        return this.#facts(this.at + size);
      }
      this.skip(tag & 7);
    }
  }

  #facts(end: number): void {
    while (this.at < end) {
      const tag = this.number();
      switch (tag >>> 3) {
        case 1:
          this.text(this.id);
          break;
        case 2: {
          const size = this.number();
          this.#target(this.at + size);
          break;
        }
        case 4:
          this.sourceKind = "service";
          this.skip(tag & 7);
          break;
        case 5:
          this.sourceKind = "subscription";
          this.skip(tag & 7);
          break;
        case 6:
          this.sourceKind = "restart";
          this.skip(tag & 7);
          break;
        case 7:
          this.text(this.idempotencyKey);
          break;
        case 9:
          this.createdAtMs = this.number();
          break;
        case 10:
          this.executionTimeMs = this.number();
          break;
        case 11:
          this.completionRetentionMs = this.number();
          break;
        case 12:
          this.journalRetentionMs = this.number();
          break;
        case 16:
          this.text(this.limitKey);
          break;
        case 20:
          this.hasDebounce = true;
          this.skip(tag & 7);
          break;
        case 23:
          this.hasEvent = true;
          this.skip(tag & 7);
          break;
        default:
          this.skip(tag & 7);
      }
    }
  }

  #target(end: number): void {
    while (this.at < end) {
      const tag = this.number();
      switch (tag >>> 3) {
        case 1:
          this.text(this.service);
          break;
        case 2:
          this.text(this.key);
          break;
        case 3:
          this.text(this.handler);
          break;
        case 4:
          this.serviceType = SERVICE_TYPES[this.number()] ?? "service";
          break;
        case 6:
          this.text(this.scope);
          break;
        default:
          this.skip(tag & 7);
      }
    }
  }

  #reset(): void {
    this.id.start = -1;
    this.scope.start = -1;
    this.service.start = -1;
    this.key.start = -1;
    this.handler.start = -1;
    this.idempotencyKey.start = -1;
    this.limitKey.start = -1;
    this.serviceType = "service";
    this.sourceKind = "ingress";
    this.createdAtMs = 0;
    this.completionRetentionMs = 0;
    this.journalRetentionMs = 0;
    this.executionTimeMs = -1;
    this.hasDebounce = false;
    this.hasEvent = false;
  }
}

/** −1 stands for a time or number that the row does not have. */
class ProgressFields extends RowCursor {
  readonly pinnedDeployment: TextField = { start: -1, end: -1 };
  pinnedVersion = -1;
  modifiedAtMs = 0;
  scheduledAtMs = -1;
  inboxedAtMs = -1;
  runningAtMs = -1;
  completedAtMs = -1;
  journalLength = 0;
  journalCommands = 0;
  hasEvents = false;
  isFailure = false;

  read(row: Uint8Array): void {
    this.row = row;
    this.#reset();
    this.at = 1;
    while (this.at < row.length) {
      const tag = this.number();
      switch (tag >>> 3) {
        case 2:
          this.modifiedAtMs = this.number();
          break;
        case 4:
          this.text(this.pinnedDeployment);
          break;
        case 5:
          this.pinnedVersion = this.number();
          break;
        case 6:
          this.journalLength = this.number();
          break;
        case 7:
          this.journalCommands = this.number();
          break;
        case 11:
          this.scheduledAtMs = this.number();
          break;
        case 12:
          this.inboxedAtMs = this.number();
          break;
        case 13:
          this.runningAtMs = this.number();
          break;
        case 14:
          this.completedAtMs = this.number();
          break;
        case 18: {
          const size = this.number();
          this.isFailure = size === 0 || (row[this.at] ?? 0) >>> 3 !== 1; // The value is the first field, and the only one.
          this.at += size;
          break;
        }
        case 19:
          this.hasEvents = this.number() !== 0;
          break;
        default:
          this.skip(tag & 7);
      }
    }
  }

  #reset(): void {
    this.pinnedDeployment.start = -1;
    this.pinnedVersion = -1;
    this.modifiedAtMs = 0;
    this.scheduledAtMs = -1;
    this.inboxedAtMs = -1;
    this.runningAtMs = -1;
    this.completedAtMs = -1;
    this.journalLength = 0;
    this.journalCommands = 0;
    this.hasEvents = false;
    this.isFailure = false;
  }
}
