/**
 * The metadata store of a single process, in LevelDB beside its partitions. Writes are synced and serialised, so that expected versions
 * are compared with the stored ones.
 */
import { causeCode, causeMessage, invariant, PerdureError } from "@perdure/base";
import {
  checkKey,
  checkWrites,
  type Document,
  type DocumentWrite,
  documentText,
  documentValue,
  LISTED_DOCUMENTS_MAX,
  type MetadataStore,
  type WriteOutcome,
} from "@perdure/metadata";
import { ClassicLevel } from "classic-level";
import { openFailure } from "./open-failure.js";

/**
 * Documents are stored under `d` + key, the number of the last write under `version`: `d` sorts before `v`, so the ranges do not overlap.
 */
const DOCUMENT_PREFIX = "d";
const DOCUMENT_END = "e";
const VERSION_KEY = "version";

type TextLevel = ClassicLevel<string, string>;

/**
 * Opens the store in `directory`, which is created if missing. Rejects with RT0005 when another process has it open, STO0003 when it is
 * damaged, STO0001 otherwise.
 */
export async function openLevelMetadataStore(directory: string): Promise<MetadataStore> {
  const db: TextLevel = new ClassicLevel(directory, { keyEncoding: "utf8", valueEncoding: "utf8" });
  try {
    await db.open();
  } catch (cause) {
    throw openFailure(directory, cause, "metadata directory");
  }
  try {
    const stored = await guard(() => db.get(VERSION_KEY));
    const version = stored === undefined ? 0 : Number(stored);
    if (Number.isSafeInteger(version)) return new LevelMetadataStore(db, version);
    throw new PerdureError("STO0003", `the metadata directory ${directory} holds an unreadable version number`);
  } catch (cause) {
    await db.close();
    throw cause;
  }
}

class LevelMetadataStore implements MetadataStore {
  readonly #db: TextLevel;
  #version: number;
  /** The last write; the next one waits for it. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(db: TextLevel, version: number) {
    this.#db = db;
    this.#version = version;
  }

  async get(key: string): Promise<Document | undefined> {
    checkKey(key);
    const text = await guard(() => this.#db.get(DOCUMENT_PREFIX + key));
    return text === undefined ? undefined : decode(key, text);
  }

  async list(prefix: string): Promise<readonly Document[]> {
    const documents: Document[] = [];
    await guard(async () => {
      // One iterator is one snapshot.
      for await (const [stored, text] of this.#db.iterator({ gte: DOCUMENT_PREFIX + prefix, lt: DOCUMENT_END })) {
        const key = stored.slice(DOCUMENT_PREFIX.length);
        if (!key.startsWith(prefix)) break;
        invariant(documents.length < LISTED_DOCUMENTS_MAX, "a metadata list stays within its bound");
        documents.push(decode(key, text));
      }
    });
    return documents;
  }

  async write(writes: readonly DocumentWrite[]): Promise<WriteOutcome> {
    checkWrites(writes);
    const turn = this.#tail.then(() => this.#writeNow(writes));
    this.#tail = turn.catch(() => undefined); // The caller gets the error; it does not affect the next write.
    return turn;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tail;
    await guard(() => this.#db.close());
  }

  async #writeNow(writes: readonly DocumentWrite[]): Promise<WriteOutcome> {
    if (writes.length === 0) return { kind: "written", version: this.#version };
    const present = await guard(() => this.#db.getMany(writes.map((write) => DOCUMENT_PREFIX + write.key)));
    for (const [index, write] of writes.entries()) {
      const text = present[index];
      const actualVersion = text === undefined ? 0 : decode(write.key, text).version;
      if (write.expectedVersion !== undefined && write.expectedVersion !== actualVersion) {
        return { kind: "conflict", key: write.key, actualVersion };
      }
    }
    const version = this.#version + 1;
    const batch = this.#db.batch().put(VERSION_KEY, String(version));
    for (const write of writes) {
      if (write.kind === "delete") batch.del(DOCUMENT_PREFIX + write.key);
      else batch.put(DOCUMENT_PREFIX + write.key, `${version} ${documentText(write.value)}`);
    }
    await guard(() => batch.write({ sync: true }));
    this.#version = version;
    return { kind: "written", version };
  }
}

/** `<version> <json>`: the version can be read without parsing the rest. */
function decode(key: string, text: string): Document {
  const blank = text.indexOf(" ");
  const version = Number(text.slice(0, blank));
  if (blank < 1 || !Number.isSafeInteger(version)) throw damaged(key);
  return { key, version, value: documentValue(key, text.slice(blank + 1)) };
}

function damaged(key: string): PerdureError {
  return new PerdureError("STO0003", `the metadata document '${key}' cannot be read`);
}

/** Runs a storage operation; errors of LevelDB become a PerdureError. */
async function guard<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (cause) {
    if (cause instanceof PerdureError) throw cause;
    if (causeCode(cause) === undefined) throw cause; // Not an error of LevelDB but a bug.
    throw new PerdureError("STO0001", `metadata storage failed: ${causeMessage(cause)}`, { cause });
  }
}
