/**
 * Serves HTTP/2 with express, which supports only `node:http`. Each stream is sent to the HTTP/1.1 server over an in-memory connection:
 * complete, but twice the work, so only for endpoints that are not hot.
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { type Duplex, duplexPair } from "node:stream";
import { handleErrors } from "@perdure/base";
import { HOP_BY_HOP_HEADERS } from "./end-to-end-headers.js";

const STATUS_MAX = 599;

/** Returns a stream handler that answers through whatever `accept` does with an HTTP/1.1 connection. */
export function bridgeStreams(
  accept: (connection: Duplex) => void,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  const connect = (remoteAddress: string | undefined): Duplex => {
    const [near, far] = duplexPair();
    handleErrors(near);
    handleErrors(far);
    // The two ends propagate an end, but not a destruction.
    near.on("close", () => far.destroy());
    far.on("close", () => {
      if (!far.writableFinished) near.destroy();
    });
    // The client's address: limits are per address, and all of HTTP/2 would share one.
    Object.defineProperty(far, "remoteAddress", { value: remoteAddress });
    accept(far);
    return near;
  };
  return (stream, headers) => {
    const outgoing = httpRequest({
      createConnection: () => connect(stream.session?.socket.remoteAddress),
      method: headers[":method"] ?? "GET",
      path: headers[":path"] ?? "/",
      headers: requestHeaders(headers),
      setHost: false,
    });
    handleErrors(outgoing, (cause) => {
      if (!isAnswered) stream.destroy(cause); // Not close(): that would end the answer as if it were whole.
    });
    let isAnswered = false;
    outgoing.on("response", (incoming) => {
      isAnswered = true;
      answer(stream, incoming);
    });
    outgoing.on("continue", () => {
      if (!isOver(stream)) stream.additionalHeaders({ ":status": 100 });
    });
    // `aborted` comes before the end that a reset, or a broken connection, makes of the body: half of it would pass for the whole.
    for (const over of ["aborted", "error", "close"]) stream.on(over, () => outgoing.destroy());
    stream.pipe(outgoing);
  };
}

/** HTTP/1.1 has statuses up to 999; Node throws when one above 599 is to be sent in HTTP/2. */
function statusOf({ statusCode = 500 }: IncomingMessage): number {
  return statusCode > STATUS_MAX ? 500 : statusCode;
}

/** Nothing can be sent on it any more: Node would throw. */
function isOver(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.closed;
}

function requestHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || name.startsWith(":") || HOP_BY_HOP_HEADERS.has(name)) continue;
    result[name] = value;
  }
  result["host"] = headers[":authority"] ?? headers.host ?? "localhost";
  return result;
}

function answer(stream: ServerHttp2Stream, incoming: IncomingMessage): void {
  handleErrors(incoming, (cause) => stream.destroy(cause));
  if (isOver(stream)) return void incoming.destroy();
  const headers: Record<string, string | string[] | number> = { ":status": statusOf(incoming) };
  for (const name of Object.keys(incoming.headers)) {
    const value = incoming.headers[name];
    if (value !== undefined && !HOP_BY_HOP_HEADERS.has(name)) headers[name] = value;
  }
  stream.respond(headers);
  // The rest of the request is not needed, and the stream must not stay open for it (RFC 9113 §8.1).
  stream.once("finish", () => {
    if (stream.readableEnded || stream.closed) return;
    stream.close(constants.NGHTTP2_NO_ERROR);
    setImmediate(() => stream.destroy()); // A graceful end would wait until the received bytes are read.
  });
  incoming.pipe(stream);
}
