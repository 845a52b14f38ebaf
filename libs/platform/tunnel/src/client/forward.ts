/** Authorises requests from the tunnel: each must be signed for its path and name an allowed destination. */
import type { ServerHttp2Stream } from "node:http2";
import type { Clock } from "@perdure/base";
import { originOf, parseDestination, withoutQuery } from "../destination.js";
import { HTTP_VERSION_HEADER } from "../handshake.js";
import type { IdentityVerifier } from "../identity.js";
import type { OnTunnelEvent } from "./events.js";
import { answerError, type LocalCalls } from "./local-calls.js";
import type { Locals } from "./locals.js";

export interface ForwardPorts {
  readonly verifier: IdentityVerifier;
  readonly locals: Locals;
  readonly calls: LocalCalls;
  readonly clock: Clock;
  readonly onEvent: OnTunnelEvent;
}

type StreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Answers the stream: by the local service, or with 400, 401 or 403. */
export function forward(ports: ForwardPorts, stream: ServerHttp2Stream, headers: StreamHeaders): void {
  const path = textOf(headers[":path"]) ?? "";
  const destination = parseDestination(path);
  if (destination === undefined) return deny(ports, stream, 400, path, "the path names no destination");
  const check = ports.verifier.check(headers, withoutQuery(destination.target));
  if (check.kind === "bad") return deny(ports, stream, 401, path, check.reason);
  const version = headers[HTTP_VERSION_HEADER];
  if (version !== undefined && version !== "HTTP/1.1" && version !== "HTTP/2.0") {
    return deny(ports, stream, 400, path, `${HTTP_VERSION_HEADER} is neither HTTP/1.1 nor HTTP/2.0`);
  }
  const service = ports.locals.find(destination);
  if (service === undefined) {
    return deny(ports, stream, 403, path, `this tunnel does not lead to ${originOf(destination)}`);
  }
  const { clock, onEvent } = ports;
  const startedAtMs = clock.monotonicMs();
  const method = textOf(headers[":method"]) ?? "GET";
  stream.on("error", NOTHING); // `close` follows.
  stream.on("close", () => {
    const status = Number(stream.sentHeaders?.[":status"] ?? 0);
    const durationMs = clock.monotonicMs() - startedAtMs;
    onEvent({
      kind: "request",
      method,
      destination: `${service.scheme}://${service.authority}`,
      path: withoutQuery(destination.target),
      status,
      durationMs,
    });
  });
  ports.calls.call({ stream, headers, method, target: destination.target }, service, version);
}

function deny({ onEvent }: ForwardPorts, stream: ServerHttp2Stream, status: number, path: string, reason: string): void {
  onEvent({ kind: "denied", status, path: withoutQuery(path), reason });
  stream.on("error", NOTHING);
  answerError(stream, status, reason);
}

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

const NOTHING = (): void => undefined;
