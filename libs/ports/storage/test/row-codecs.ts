/** Codecs of recorded rows by the name of their form; the recorder and the tests share this list. */
import * as store from "../src/index.js";

interface RowCodec {
  encode(value: never): Uint8Array;
  decode(row: Uint8Array): unknown;
}

/** Whole rows, as a store keeps them. */
export const ROW_CODECS: Readonly<Record<string, RowCodec>> = {
  invocation: { encode: store.encodeInvocation, decode: store.decodeInvocation },
  entry: { encode: store.encodeEntry, decode: store.decodeEntry },
  event: { encode: store.encodeEvent, decode: store.decodeEvent },
  lock: { encode: store.encodeLock, decode: store.decodeLock },
  inbox: { encode: store.encodeInbox, decode: store.decodeInbox },
  promise: { encode: store.encodePromise, decode: store.decodePromise },
  pause: { encode: store.encodePause, decode: store.decodePause },
  number: { encode: store.encodeNumber, decode: store.decodeNumber },
  outbox: { encode: store.encodeOutboxCommand, decode: store.decodeOutboxCommand },
  packed: { encode: store.packRows, decode: store.unpackRows },
};
