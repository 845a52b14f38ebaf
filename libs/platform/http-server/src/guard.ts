/**
 * A guard checks each request of either HTTP version before its handler, e.g. when a listener is behind a gateway that alone may call it,
 * or must refuse some requests.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { type Clock, handleErrors } from "@perdure/base";
import { lingerMsDefault } from "./limits.js";
import { boundRestOfStream, lingerBeforeClose } from "./linger.js";

/** An answer without the handler; the body is JSON. */
export interface GuardRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RequestGuard {
  /** Headers that handlers never see, names in lower case. */
  readonly hidden: readonly string[];
  /** Undefined lets it pass. `target` is the path with its query. */
  refusal(method: string, target: string, headers: IncomingHttpHeaders): GuardRefusal | undefined;
}

type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;
type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]) => void;

export function guardedRequest(guard: RequestGuard, handle: RequestHandler, clock: Clock): RequestHandler {
  return (req, res) => {
    const refusal = guard.refusal(req.method ?? "", req.url ?? "/", req.headers);
    if (refusal !== undefined) {
      if (!req.complete) lingerBeforeClose(req.socket, clock, lingerMsDefault);
      res.writeHead(refusal.status, { "content-type": "application/json", ...refusal.headers, connection: "close" });
      res.end(refusal.body);
      return;
    }
    hide(guard, req.headers, req.rawHeaders);
    handle(req, res);
  };
}

export function guardedStream(guard: RequestGuard, handle: StreamHandler, clock: Clock): StreamHandler {
  return (stream, headers, flags, rawHeaders) => {
    handleErrors(stream); // A client that is refused may hang up.
    const refusal = guard.refusal(headers[":method"] as string, headers[":path"] as string, headers);
    if (refusal !== undefined) {
      stream.respond({ ":status": refusal.status, "content-type": "application/json", ...refusal.headers });
      stream.end(refusal.body);
      boundRestOfStream(stream, clock, lingerMsDefault);
      return;
    }
    hide(guard, headers, rawHeaders);
    handle(stream, headers, flags, rawHeaders);
  };
}

function hide({ hidden }: RequestGuard, headers: IncomingHttpHeaders, rawHeaders: string[]): void {
  for (const name of hidden) {
    if (headers[name] === undefined) continue;
    Reflect.deleteProperty(headers, name);
    for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
      if (rawHeaders[i]?.toLowerCase() === name) rawHeaders.splice(i, 2);
    }
  }
}
