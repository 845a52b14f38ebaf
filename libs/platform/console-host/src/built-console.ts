/**
 * The files of the built console. They are all read once, before the first request, so a request can only name one of these files: no path
 * leads out of the directory, and no request waits for the disk.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { causeCode, PerdureError } from "@perdure/base";
import { ALL_BYTES_MAX, DEPTH_MAX, FILE_BYTES_MAX, FILES_MAX } from "./limits.js";

type Encoding = "br" | "gzip" | "identity";

/** One encoding of a file. */
export interface EncodedFile {
  readonly encoding: Encoding;
  readonly bytes: Buffer;
  /** A strong validator, with its quotes; encodings of one file have different ones (RFC 9110 §8.8.3.3). */
  readonly etag: string;
}

export interface BuiltFile {
  readonly contentType: string;
  /** The name of the file changes with its content, so it may be cached for ever. */
  readonly isImmutable: boolean;
  /** The best first; identity is the last and always there. */
  readonly forms: readonly EncodedFile[];
}

interface BuiltConsole {
  /** The page, with its placeholders. */
  readonly page: string;
  /** Files by their path below the base, without a leading slash. */
  readonly files: ReadonlyMap<string, BuiltFile>;
}

/** The build leaves compressed forms beside each file that gains from it. */
const COMPRESSED: readonly (readonly [encoding: Encoding, suffix: string])[] = [
  ["br", ".br"],
  ["gzip", ".gz"],
];

const PAGE = "index.html";

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".gif": "image/gif",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};

/**
 * Everything in `directory`; undefined when there is no such directory or no page in it: the console has not been built. Links are not
 * followed. Rejects with OPS0001 when it is more than a console can be, with OPS0003 when it cannot be read.
 */
export async function builtConsole(directory: string): Promise<BuiltConsole | undefined> {
  const read = await readAll(directory).catch((cause: unknown) => {
    if (cause instanceof PerdureError) throw cause;
    throw new PerdureError("OPS0003", `the console in ${directory} cannot be read: ${String(cause)}`, { cause });
  });
  const page = read.get(PAGE);
  if (page === undefined) return undefined;
  const files = new Map<string, BuiltFile>();
  for (const [path, bytes] of read) {
    if (path === PAGE || path.startsWith(`${PAGE}.`) || COMPRESSED.some(([, suffix]) => isFormOf(path, suffix, read))) continue;
    files.set(path, builtFile(path, bytes, read));
  }
  return { page: page.toString("utf8"), files };
}

function isFormOf(path: string, suffix: string, read: ReadonlyMap<string, Buffer>): boolean {
  return path.endsWith(suffix) && read.has(path.slice(0, -suffix.length));
}

function builtFile(path: string, bytes: Buffer, read: ReadonlyMap<string, Buffer>): BuiltFile {
  const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, DIGEST_CHARS);
  const forms: EncodedFile[] = [];
  for (const [encoding, suffix] of COMPRESSED) {
    const compressed = read.get(path + suffix);
    if (compressed !== undefined && compressed.length < bytes.length) {
      forms.push({ encoding, bytes: compressed, etag: `"${digest}-${encoding}"` });
    }
  }
  forms.push({ encoding: "identity", bytes, etag: `"${digest}"` });
  return { contentType: CONTENT_TYPES[extname(path)] ?? "application/octet-stream", isImmutable: HASHED.test(path), forms };
}

/** Hashed names of the build: `assets/index-C2kYc7Qe.js`. */
const HASHED = /^assets\/.+-[\w-]{8}\.\w+$/;

/** 132 bits, so an attacker cannot find a second file with the same digest. */
const DIGEST_CHARS = 22;

// ── the directory ────────────────────────────────────────────────────────────────────────────────

async function readAll(directory: string): Promise<ReadonlyMap<string, Buffer>> {
  const read = new Map<string, Buffer>();
  let left = ALL_BYTES_MAX;
  const readFolder = async (below: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw tooMuch(directory, `folders ${DEPTH_MAX} deep`);
    for (const entry of await readdir(join(directory, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) await readFolder(path, depth + 1);
      if (!entry.isFile()) continue;
      if (read.size >= FILES_MAX) throw tooMuch(directory, `${FILES_MAX} files`);
      const bytes = await readOne(join(directory, path), Math.min(left, FILE_BYTES_MAX));
      if (bytes === undefined) throw tooMuch(directory, `${FILE_BYTES_MAX} bytes in a file, or ${ALL_BYTES_MAX} in all`);
      left -= bytes.length;
      read.set(path, bytes);
    }
  };
  try {
    await readFolder("", 1);
  } catch (cause) {
    if (causeCode(cause) === "ENOENT" && read.size === 0) return read;
    throw cause;
  }
  return read;
}

/**
 * Reads one file. Undefined when it is longer than `bytesMax`. Checks are made on the open file, because another file may have the name
 * later.
 */
async function readOne(path: string, bytesMax: number): Promise<Buffer | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { size } = await file.stat();
    return size > bytesMax ? undefined : await file.readFile();
  } finally {
    await file?.close();
  }
}

function tooMuch(directory: string, what: string): PerdureError {
  return new PerdureError("OPS0001", `${directory} has more than ${what}: it is not the console`);
}
