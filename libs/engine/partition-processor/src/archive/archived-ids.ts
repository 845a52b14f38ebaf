/**
 * Keeps a fingerprint of six bytes for every archived id, so that a new call with a key need not query the archive and is accepted
 * while the archive is unavailable. An id without fingerprint was never archived; for an id with one the archive is queried.
 *
 * Fingerprints are state of a service name that no deployment can have, in chunks that are written with the batch that evicts, so that
 * each leader has all fingerprints of its predecessor. A chunk is deleted a day after the retention of all its invocations is over. A
 * partition whose archive is older than its fingerprints reads the ids of the archive once; until then the archive is queried for every
 * id.
 */
import { hashString, type InvocationId, present } from "@perdure/base";
import { FINGERPRINTS_IN_CHUNK, FINGERPRINTS_KEPT_MS } from "../limits.js";

/** Object whose state has the chunks; state keys are their numbers, and `COMPLETE`. */
export const ARCHIVED_IDS = Object.freeze({ service: ":archive", key: "ids" });
/** State key whose presence means that the fingerprints of all archived invocations are stored. */
export const COMPLETE = "complete";

const FINGERPRINT_BYTES = 6;
const HEADER_BYTES = 8;
const SLOTS_MIN = 1024;

interface Chunk {
  readonly name: string;
  /** End of the longest retention of the ids in the chunk. */
  retainedUntilMs: number;
  readonly fingerprints: number[];
  isChanged: boolean;
}

/** The fingerprints of one partition. */
export class ArchivedIds {
  #chunks: Chunk[] = [];
  #nextName = 0;
  /** Hash table with open addressing; 0 marks a free slot. */
  #slots = new Float64Array(SLOTS_MIN);
  /** Chunk that keeps the fingerprint for longest, by slot. */
  #owners = new Uint32Array(SLOTS_MIN);
  #count = 0;
  #isComplete: boolean;

  /** `entries` are the chunks as they are stored. */
  constructor(entries: ReadonlyMap<string, Uint8Array>) {
    this.#isComplete = entries.has(COMPLETE);
    for (const [name, value] of entries) {
      if (name === COMPLETE) continue;
      const bytes = new DataView(value.buffer, value.byteOffset, value.byteLength);
      const fingerprints: number[] = [];
      for (let at = HEADER_BYTES; at < bytes.byteLength; at += FINGERPRINT_BYTES)
        fingerprints.push(bytes.getUint16(at) * 2 ** 32 + bytes.getUint32(at + 2));
      this.#chunks.push({ name, retainedUntilMs: bytes.getFloat64(0), fingerprints, isChanged: false });
      this.#nextName = Math.max(this.#nextName, Number(name) + 1);
    }
    this.#chunks.sort((a, b) => Number(a.name) - Number(b.name));
    this.#index();
  }

  /** Whether `mayHave` can exclude ids. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** All ids that were archived before have been added. */
  complete(): void {
    this.#isComplete = true;
  }

  /** False: the id was never archived, or its retention ended long ago. */
  mayHave(id: InvocationId): boolean {
    return !this.#isComplete || this.#slots[this.#slotOf(fingerprintOf(id))] !== 0;
  }

  add(id: InvocationId, retainedUntilMs: number): void {
    const fingerprint = fingerprintOf(id);
    const slot = this.#slotOf(fingerprint);
    const isNew = this.#slots[slot] === 0;
    // The same generation again, after a change of leader or when the archive is read anew, stays in its chunk. The next generation of
    // a key goes to the newest chunk instead, because one key that is used for ever must not keep its whole chunk for ever.
    if (!isNew && retainedUntilMs <= present(this.#chunks[present(this.#owners[slot])]).retainedUntilMs) return;
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.fingerprints.length >= FINGERPRINTS_IN_CHUNK) {
      chunk = { name: String(this.#nextName++), retainedUntilMs, fingerprints: [], isChanged: true };
      this.#chunks.push(chunk);
    }
    chunk.fingerprints.push(fingerprint);
    chunk.retainedUntilMs = Math.max(chunk.retainedUntilMs, retainedUntilMs);
    chunk.isChanged = true;
    this.#put(slot, fingerprint, this.#chunks.length - 1);
  }

  /** Yields the chunks with new fingerprints that must be stored now, as names and bytes. Each change is yielded once. */
  *changed(): Iterable<readonly [name: string, value: Uint8Array]> {
    for (const chunk of this.#chunks) {
      if (!chunk.isChanged) continue;
      chunk.isChanged = false;
      yield [chunk.name, encode(chunk)];
    }
  }

  /** Deletes chunks whose retention is over; returns the names of those to delete from the store. */
  expire(nowMs: number): readonly string[] {
    const isOver = ({ retainedUntilMs }: Chunk): boolean => retainedUntilMs + FINGERPRINTS_KEPT_MS <= nowMs;
    const over = this.#chunks.filter(isOver);
    if (over.length === 0) return [];
    this.#chunks = this.#chunks.filter((chunk) => !isOver(chunk));
    this.#index();
    return over.map(({ name }) => name);
  }

  #index(): void {
    const count = this.#chunks.reduce((sum, { fingerprints }) => sum + fingerprints.length, 0);
    let size = SLOTS_MIN;
    while (size < 2 * count) size *= 2;
    this.#slots = new Float64Array(size);
    this.#owners = new Uint32Array(size);
    this.#count = 0;
    for (const [owner, { retainedUntilMs, fingerprints }] of this.#chunks.entries()) {
      for (const fingerprint of fingerprints) {
        const slot = this.#slotOf(fingerprint);
        const isOccupied = this.#slots[slot] !== 0;
        if (isOccupied && present(this.#chunks[present(this.#owners[slot])]).retainedUntilMs >= retainedUntilMs) continue;
        this.#slots[slot] = fingerprint;
        this.#owners[slot] = owner;
        if (!isOccupied) this.#count++;
      }
    }
  }

  #put(slot: number, fingerprint: number, owner: number): void {
    if (this.#slots[slot] === 0) this.#count++;
    this.#slots[slot] = fingerprint;
    this.#owners[slot] = owner;
    // Half of the slots stay free, so that probe sequences stay short.
    if (this.#count * 2 > this.#slots.length) this.#index();
  }

  /** Returns the slot of the fingerprint, or the free slot where it would be. */
  #slotOf(fingerprint: number): number {
    const last = this.#slots.length - 1;
    for (let slot = fingerprint % (last + 1); ; slot = slot === last ? 0 : slot + 1) {
      const occupant = this.#slots[slot];
      if (occupant === fingerprint || occupant === 0) return slot;
    }
  }
}

/** 48 bits, never 0. With ten million ids in a partition, one new id in some 28 million queries the archive in vain. */
function fingerprintOf(id: InvocationId): number {
  return Number(hashString(id) & 0xffff_ffff_ffffn) || 1;
}

function encode({ retainedUntilMs, fingerprints }: Chunk): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(HEADER_BYTES + fingerprints.length * FINGERPRINT_BYTES));
  bytes.setFloat64(0, retainedUntilMs);
  for (const [i, fingerprint] of fingerprints.entries()) {
    const at = HEADER_BYTES + i * FINGERPRINT_BYTES;
    bytes.setUint16(at, Math.floor(fingerprint / 2 ** 32));
    bytes.setUint32(at + 2, fingerprint % 2 ** 32);
  }
  return new Uint8Array(bytes.buffer);
}
