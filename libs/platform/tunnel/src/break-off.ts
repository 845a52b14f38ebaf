/** Aborts streams so that the other side cannot take them for complete. */
import { constants, type Http2Stream } from "node:http2";

/**
 * Resets the stream. Node's `close` would send END_STREAM before the reset, so that half an answer would look complete. Received data that
 * was not read is discarded.
 */
export function breakOff(stream: Http2Stream): void {
  if (stream.destroyed) return;
  if (stream.writableEnded) {
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    stream.resume();
  } else stream.destroy(new Error("given up"));
}
