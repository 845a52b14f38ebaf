/** Producers compress as they like; kafkajs itself reads gzip. These are the other three codecs of the protocol. */
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import kafkajs from "kafkajs";
import snappy from "kafkajs-snappy";
import { compressFrame, decompressFrame } from "lz4-napi";

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** The shape that kafkajs asks of a codec; what it compresses comes as its own kind of encoder. */
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

/** Done once for the process, when the first consumer opens. */
export function knowAllCodecs(): void {
  const codecs = CompressionCodecs as Record<number, (() => unknown) | undefined>;
  codecs[CompressionTypes.Snappy] = snappy;
  codecs[CompressionTypes.LZ4] = () => lz4;
  codecs[CompressionTypes.ZSTD] = () => zstd;
}
