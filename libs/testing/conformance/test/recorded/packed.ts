/** Why: recordings are directories of files that compress well; one packed file of each is what the repository keeps. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

const TESTDATA = new URL("./testdata/", import.meta.url);

/** Files of a directory and below, by their path in it. */
export function filesOf(directory: string): Map<string, Buffer> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return new Map(paths.map((path) => [relative(directory, path), readFileSync(path)]));
}

/** JSON from path to base64, compressed. */
export function packFiles(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const text = JSON.stringify(
    Object.fromEntries([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString("base64")])),
  );
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  return brotliCompressSync(text, { params });
}

/** Writes the files of a recording below `directory`. */
export function unpackRecording(name: string, directory: string): void {
  const text = brotliDecompressSync(readFileSync(new URL(name, TESTDATA))).toString();
  for (const [path, content] of Object.entries(JSON.parse(text) as Record<string, string>)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), Buffer.from(content, "base64"));
  }
}

/** JSON beside the recordings. */
export function recordedFacts<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(name, TESTDATA), "utf8")) as T;
}
