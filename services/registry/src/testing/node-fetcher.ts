/** A discovery fetcher on Node's own clients, one connection per request: slow, simple, and sufficient for tests. */
import { request as http1Request } from "node:http";
import { connect } from "node:http2";
import type { TransportFailure } from "@perdure/endpoint-transport";
import type { DiscoveryAnswer, DiscoveryFetcher, DiscoveryRequest } from "../ports.js";

/** Cleartext HTTP only; Lambda addresses are answered by `lambda`, when given. */
export function createNodeFetcher(lambda?: (request: DiscoveryRequest) => DiscoveryAnswer): DiscoveryFetcher {
  return {
    fetch(request, signal) {
      if (request.target.kind === "lambda") {
        return Promise.resolve(lambda?.(request) ?? failed("client", "there is no Lambda in this test"));
      }
      const { uri, httpVersion } = request.target;
      const url = new URL(uri);
      const path = `${url.pathname.replace(/\/$/, "")}${request.path}${url.search}`;
      return httpVersion === "HTTP/1.1" ? fetchHttp1(url, path, request, signal) : fetchHttp2(url, path, request, signal);
    },
  };
}

function fetchHttp1(url: URL, path: string, request: DiscoveryRequest, signal: AbortSignal): Promise<DiscoveryAnswer> {
  return new Promise((resolve) => {
    const outgoing = http1Request({
      host: url.hostname,
      port: url.port,
      path,
      headers: { ...request.headers },
      agent: false,
      signal,
    });
    outgoing.on("error", (cause) => resolve(failed(signal.aborted ? "client" : "connect", cause.message)));
    outgoing.on("response", (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          kind: "response",
          status: response.statusCode ?? 0,
          headers: textHeaders(response.headers),
          body: Buffer.concat(chunks),
          httpVersion: response.httpVersion === "1.0" ? "HTTP/1.0" : "HTTP/1.1",
        }),
      );
    });
    outgoing.end();
  });
}

function fetchHttp2(url: URL, path: string, request: DiscoveryRequest, signal: AbortSignal): Promise<DiscoveryAnswer> {
  return new Promise((resolve) => {
    const session = connect(`http://${url.host}`);
    const finish = (answer: DiscoveryAnswer) => {
      session.destroy();
      resolve(answer);
    };
    session.on("error", (cause) => finish(failed(kindOf(cause, "connect"), cause.message)));
    const stream = session.request({ ":path": path, ...request.headers }, { signal });
    let status = 0;
    let headers: Record<string, string | undefined> = {};
    const chunks: Uint8Array[] = [];
    stream.on("response", (received) => {
      status = received[":status"] ?? 0;
      headers = textHeaders(received);
    });
    stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    stream.on("error", (cause) => finish(failed(signal.aborted ? "client" : kindOf(cause, "connect"), cause.message)));
    stream.on("end", () => {
      if (status !== 0) finish({ kind: "response", status, headers, body: Buffer.concat(chunks), httpVersion: "HTTP/2.0" });
    });
    stream.end();
  });
}

/** A peer that responds with HTTP/1.1 violates the protocol of HTTP/2 at its first byte. */
function kindOf(cause: NodeJS.ErrnoException, otherwise: TransportFailure["kind"]): TransportFailure["kind"] {
  return cause.code === "ERR_HTTP2_ERROR" ? "http11Peer" : otherwise;
}

function failed(kind: TransportFailure["kind"], message: string): DiscoveryAnswer {
  return { kind: "failed", failure: { kind, message } };
}

function textHeaders(headers: Readonly<Record<string, string | string[] | number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name, value]) => value !== undefined && !name.startsWith(":"))
      .map(([name, value]) => [name, String(value)]),
  );
}
