/** The files of a commit log: an interface, so that tests can lose what was not made durable, and its implementation on the file system. */
import { constants, fdatasync, fstat, ftruncate, write, writeSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

export interface LogFiles {
  /** Names of all files; none when the directory does not exist. */
  list(): Promise<readonly string[]>;
  read(name: string): Promise<Uint8Array>;
  /** Opens a file for writing. One that does not exist is created, empty. */
  open(name: string): Promise<LogFile>;
  /** Names change at once, and durably with `sync`. */
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Makes the names of all files durable. */
  sync(): Promise<void>;
}

export interface LogFile extends AsyncDisposable {
  /** Writes within the file, durable when it resolves. The bytes must not change before that. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Length of the file. */
  size(): Promise<number>;
  /** Replaces the content by this many zeros, durably. */
  fill(bytes: number): Promise<void>;
}

/** Written at once by the event loop: the system copies the bytes into its cache, in less time than a task of the thread pool takes. */
const WRITTEN_AT_ONCE_MAX = 256 * 1024;
const ZEROS = Buffer.alloc(1024 * 1024);

export function logFilesIn(directory: string): LogFiles {
  const at = (name: string): string => join(directory, name);
  return {
    list: () => namesIn(directory),
    read: (name) => readFile(at(name)),
    async open(name) {
      await mkdir(directory, { recursive: true });
      const handle = await open(at(name), constants.O_RDWR | constants.O_CREAT);
      // The descriptor itself: writes through a FileHandle cost several promises each.
      return new DiskLogFile(handle.fd, handle);
    },
    rename: (from, to) => rename(at(from), at(to)),
    remove: (name) => rm(at(name), { force: true }),
    async sync() {
      await syncDirectory(directory);
      await syncDirectory(dirname(directory));
    },
  };
}

async function namesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return [];
    throw cause;
  });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

export async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, "r");
  await handle.sync();
}

const writeAt = promisify(write);
const dataSync = promisify(fdatasync);
const truncate = promisify(ftruncate);
const stat = promisify(fstat);

class DiskLogFile implements LogFile {
  readonly #fd: number;
  readonly #owner: AsyncDisposable;

  constructor(fd: number, owner: AsyncDisposable) {
    this.#fd = fd;
    this.#owner = owner;
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const left = bytes.length - at;
      at +=
        left <= WRITTEN_AT_ONCE_MAX
          ? writeSync(this.#fd, bytes, at, left, position + at)
          : (await writeAt(this.#fd, bytes, at, left, position + at)).bytesWritten;
    }
    await dataSync(this.#fd);
  }

  async size(): Promise<number> {
    return (await stat(this.#fd)).size;
  }

  async fill(bytes: number): Promise<void> {
    await truncate(this.#fd, 0); // The length shows how much was written if this does not end.
    for (let at = 0; at < bytes; ) {
      at += (await writeAt(this.#fd, ZEROS, 0, Math.min(ZEROS.length, bytes - at), at)).bytesWritten;
    }
    await dataSync(this.#fd);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owner[Symbol.asyncDispose]();
  }
}
