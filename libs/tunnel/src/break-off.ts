/** Why: a stream that cannot be finished must look like that to the other side, never like one that ended. */
import { constants, type Http2Stream } from "node:http2";

/**
 * Resets the stream. Node's `close` would end it first and send END_STREAM before the reset: half an answer would pass for a whole one.
 * What arrived already is thrown away.
 */
export function breakOff(stream: Http2Stream): void {
  if (stream.destroyed) return;
  if (stream.writableEnded) {
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    stream.resume();
  } else stream.destroy(new Error("given up"));
}
