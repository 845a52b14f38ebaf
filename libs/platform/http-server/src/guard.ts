/**
 * A guard checks each request of either HTTP version before its handler, e.g. when a listener is behind a gateway that alone may call it,
 * or must refuse some requests.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Clock } from "@perdure/base";
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

/** Whether the handler is called; a refusal has been answered. */
export function passesGuard(guard: RequestGuard, req: IncomingMessage, res: ServerResponse, clock: Clock): boolean {
  const refusal = guard.refusal(req.method ?? "", req.url ?? "/", req.headers);
  if (refusal === undefined) {
    hide(guard, req.headers, req.rawHeaders);
    return true;
  }
  if (!req.complete) lingerBeforeClose(req.socket, clock, lingerMsDefault);
  res.writeHead(refusal.status, { "content-type": "application/json", ...refusal.headers, connection: "close" });
  res.end(refusal.body);
  return false;
}

/** The same for a stream of HTTP/2. */
export function streamPassesGuard(
  guard: RequestGuard,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: string[],
  clock: Clock,
): boolean {
  const refusal = guard.refusal(String(headers[":method"]), String(headers[":path"] ?? ""), headers);
  if (refusal === undefined) {
    hide(guard, headers, rawHeaders);
    return true;
  }
  stream.respond({ ":status": refusal.status, "content-type": "application/json", ...refusal.headers });
  stream.end(refusal.body);
  boundRestOfStream(stream, clock, lingerMsDefault);
  return false;
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
