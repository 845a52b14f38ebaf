/** A server for tests on real sockets, because half of the specified behaviour concerns HTTP. */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import type { RequestListener } from "../http/server.js";

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** The body as JSON; throws when it is not JSON. */
  json<T = unknown>(): T;
}

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** An object as body is sent as JSON with its content type; a string or bytes as they are. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>;
}

/** The handler on a free port of the loopback interface, over HTTP/1.1. */
export async function startServer(listener: RequestListener): Promise<TestServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    send: (method, path, body, headers) => send(port, method, path, body, headers),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The same over HTTP/2 without TLS; disposing waits for open streams. */
export async function startHttp2Server(listener: RequestListener): Promise<TestServer> {
  const server = createHttp2Server(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const session = connect(`http://127.0.0.1:${port}`);
  return {
    port,
    send: (method, path, body, headers) =>
      new Promise((resolve, reject) => {
        const [payload, allHeaders] = encodeBody(body, headers);
        const stream = session.request({ ":method": method, ":path": path, ...allHeaders });
        const chunks: Buffer[] = [];
        let received: IncomingHttpHeaders & { ":status"?: number | undefined } = {};
        stream.on("response", (answer) => {
          received = answer;
        });
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("error", reject);
        stream.on("end", () => resolve(responseOf(received[":status"] ?? 0, received, chunks)));
        stream.end(payload);
      }),
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => session.close(resolve));
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function send(
  port: number,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> | undefined,
): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const [payload, allHeaders] = encodeBody(body, headers);
    const outgoing = httpRequest({ host: "127.0.0.1", port, method, path, headers: allHeaders, agent: false });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => resolve(responseOf(response.statusCode ?? 0, response.headers, chunks)));
    });
    outgoing.end(payload);
  });
}

function encodeBody(
  body: unknown,
  headers: Record<string, string> = {},
): [string | Uint8Array | undefined, Record<string, string>] {
  if (body === undefined) return [undefined, headers];
  if (typeof body === "string" || body instanceof Uint8Array) return [body, headers];
  return [JSON.stringify(body), { "content-type": "application/json", ...headers }];
}

function responseOf(status: number, headers: IncomingHttpHeaders, chunks: Buffer[]): TestResponse {
  const body = Buffer.concat(chunks);
  const text = body.toString("utf8");
  return { status, headers, body, text, json: <T>() => JSON.parse(text) as T };
}
