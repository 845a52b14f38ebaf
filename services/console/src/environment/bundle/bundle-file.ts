/** Files of bundles: written as the command line writes them, and read in the browser, which sends nothing anywhere. */
import { type BundleView, parseBundle } from "@perdure/admin-client";

/** The JSON of the largest bundle that a server makes is a quarter of it. */
const BUNDLE_JSON_BYTES_MAX = 512 * 1024 * 1024;
const GZIP: readonly number[] = [0x1f, 0x8b];

export function bundleFileName(id: string): string {
  return `${id}.bundle.json.gz`;
}

/** The JSON, compressed with gzip. */
export function bundleBlob(bundle: BundleView): Promise<Blob> {
  const compressed = new Blob([JSON.stringify(bundle)]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(compressed).blob();
}

/** Rejects with OPS0010 when the file is not a bundle. */
export async function readBundleFile(file: Blob): Promise<BundleView> {
  const head = new Uint8Array(await file.slice(0, GZIP.length).arrayBuffer());
  const isCompressed = GZIP.every((byte, index) => head[index] === byte);
  const stream = isCompressed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  return parseBundle(await textOf(stream));
}

/** A small file may become very long: reading ends at the bound. */
async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  const pieces: string[] = [];
  let bytes = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    bytes += next.value.length;
    if (bytes > BUNDLE_JSON_BYTES_MAX) {
      await reader.cancel();
      throw new RangeError(`The file has more than ${BUNDLE_JSON_BYTES_MAX} bytes of JSON.`);
    }
    pieces.push(decoder.decode(next.value, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
}
