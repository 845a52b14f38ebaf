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

/**
 * Call it at the end of an answer. Node never closes a stream that was reset without an error (RFC 9113 §8.1: the answer is whole, the rest
 * of the request is not wanted) while a write waits for the window that the reset took away.
 */
export function closeUnwritten(stream: Http2Stream): void {
  if (stream.closed && !stream.writableFinished) stream.destroy();
}
