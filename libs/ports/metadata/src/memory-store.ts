/**
 * A metadata store in memory, for tests and simulations, and the reference driver of the contract, simple enough to be obviously right.
 */
import { compareBytes, invariant, utf8 } from "@perdure/base";
import { checkKey, checkWrites, documentText, documentValue } from "./check.js";
import { LISTED_DOCUMENTS_MAX } from "./limits.js";
import type { Document, DocumentWrite, MetadataStore, WriteOutcome } from "./store.js";

type StoredText = { readonly version: number; readonly text: string };

/** Data that several stores opened one after the other can share, to simulate a restart. */
export interface MemoryMetadata {
  readonly documents: Map<string, StoredText>;
  version: number;
}

export function emptyMemoryMetadata(): MemoryMetadata {
  return { documents: new Map(), version: 0 };
}

/** Opens a store in `memory`; documents are copied on the way in and out, as if they had been on disk. */
export function createMemoryMetadataStore(memory: MemoryMetadata = emptyMemoryMetadata()): MetadataStore {
  let open = true;
  return {
    async get(key) {
      invariant(open, "a closed metadata store is not used");
      checkKey(key);
      const stored = memory.documents.get(key);
      return stored === undefined ? undefined : documentOf(key, stored);
    },
    async list(prefix) {
      invariant(open, "a closed metadata store is not used");
      const documents: Document[] = [];
      for (const [key, stored] of memory.documents) if (key.startsWith(prefix)) documents.push(documentOf(key, stored));
      invariant(documents.length <= LISTED_DOCUMENTS_MAX, "a metadata list stays within its bound");
      return documents.sort((a, b) => compareBytes(utf8(a.key), utf8(b.key)));
    },
    async write(writes) {
      invariant(open, "a closed metadata store is not used");
      return writeInto(memory, writes);
    },
    async [Symbol.asyncDispose]() {
      open = false;
    },
  };
}

function writeInto(memory: MemoryMetadata, writes: readonly DocumentWrite[]): WriteOutcome {
  checkWrites(writes);
  for (const write of writes) {
    const actualVersion = memory.documents.get(write.key)?.version ?? 0;
    if (write.expectedVersion !== undefined && write.expectedVersion !== actualVersion) {
      return { kind: "conflict", key: write.key, actualVersion };
    }
  }
  const texts = writes.map((write) => (write.kind === "put" ? documentText(write.value) : undefined));
  if (writes.length > 0) memory.version++;
  for (const [index, write] of writes.entries()) {
    const text = texts[index];
    if (text === undefined) memory.documents.delete(write.key);
    else memory.documents.set(write.key, { version: memory.version, text });
  }
  return { kind: "written", version: memory.version };
}

function documentOf(key: string, stored: StoredText): Document {
  return { key, version: stored.version, value: documentValue(key, stored.text) };
}
