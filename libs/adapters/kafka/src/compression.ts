/** Codecs for snappy, lz4 and zstd, which producers may use; kafkajs itself decompresses only gzip. */
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import kafkajs from "kafkajs";
import snappy from "kafkajs-snappy";
import { compressFrame, decompressFrame } from "lz4-napi";

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** The interface of kafkajs codecs; compressed data arrives as an encoder of kafkajs. */
interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

const zstd: Codec = {
  compress: (encoder) => promisify(zstdCompress)(encoder.buffer),
  decompress: (buffer) => promisify(zstdDecompress)(buffer),
};
const lz4: Codec = {
  compress: (encoder) => compressFrame(encoder.buffer),
  decompress: (buffer) => decompressFrame(buffer),
};

/** Registers the codecs once for the process, when the first consumer opens. */
export function registerCodecs(): void {
  const codecs = CompressionCodecs as Record<number, (() => unknown) | undefined>;
  codecs[CompressionTypes.Snappy] = snappy;
  codecs[CompressionTypes.LZ4] = () => lz4;
  codecs[CompressionTypes.ZSTD] = () => zstd;
}
