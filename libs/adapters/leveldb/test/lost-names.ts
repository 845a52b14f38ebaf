/**
 * Files of a commit log whose names a power cut loses: a changed name is durable only after a sync of the directory. POSIX does not order
 * what is not synced, so that any of the changes since the last sync may have reached the disk, and any may be missing.
 */
import { randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogFiles } from "../src/commit-log/log-files.js";

/** A file under a name that does not change, so that its present content can be read. */
type Inode = string;
type Names = ReadonlyMap<string, Inode>;

interface Change {
  readonly removed: string | undefined;
  readonly added: readonly [name: string, inode: Inode] | undefined;
}

export class LosableNames {
  readonly #directory: string;
  readonly #links: string;
  readonly #files: LogFiles;
  readonly #beforeSync: () => void;
  #durable: Names;
  #changes: Change[] = [];

  /** `links`: a directory of the same file system. `beforeSync` is called when changed names are about to be made durable. */
  constructor(directory: string, files: LogFiles, links: string, beforeSync: () => void) {
    this.#directory = directory;
    this.#files = files;
    this.#links = links;
    this.#beforeSync = beforeSync;
    mkdirSync(links, { recursive: true });
    const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
    this.#durable = new Map(entries.filter((entry) => entry.isFile()).map(({ name }) => [name, this.#link(name)]));
  }

  get files(): LogFiles {
    const files = this.#files;
    return {
      ...files,
      open: async (name) => {
        const isNew = statSync(join(this.#directory, name), { throwIfNoEntry: false }) === undefined;
        const file = await files.open(name);
        if (isNew) this.#changes.push({ removed: undefined, added: [name, this.#link(name)] });
        return file;
      },
      rename: async (from, to) => {
        await files.rename(from, to);
        this.#changes.push({ removed: from, added: [to, this.#link(to)] });
      },
      remove: async (name) => {
        await files.remove(name);
        this.#changes.push({ removed: name, added: undefined });
      },
      sync: async () => {
        if (this.#changes.length > 0) this.#beforeSync();
        const changes = this.#changes.length;
        await files.sync();
        this.#durable = applied(this.#durable, this.#changes.splice(0, changes));
      },
    };
  }

  /** The possible contents of the directory after a power cut at this moment. */
  outcomes(): readonly Names[] {
    const changes = this.#changes;
    return Array.from({ length: 2 ** changes.length }, (_, choice) =>
      applied(
        this.#durable,
        changes.filter((_, n) => (choice & (1 << n)) !== 0),
      ),
    );
  }

  /** Writes the files as they are now, under these names. */
  static write(names: Names, to: string): void {
    mkdirSync(to, { recursive: true });
    for (const [name, inode] of names) writeFileSync(join(to, name), readFileSync(inode));
  }

  #link(name: string): Inode {
    const inode = join(this.#links, randomUUID());
    linkSync(join(this.#directory, name), inode);
    return inode;
  }
}

function applied(names: Names, changes: readonly Change[]): Names {
  const after = new Map(names);
  for (const { removed, added } of changes) {
    if (removed !== undefined) after.delete(removed);
    if (added !== undefined) after.set(...added);
  }
  return after;
}
