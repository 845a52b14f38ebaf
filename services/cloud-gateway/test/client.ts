/** One request over a real socket, by HTTP/1.1 or HTTP/2, with or without TLS; the answer in one shape. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:http2";
import { request as httpsRequest } from "node:https";

export interface TestRequest {
  readonly method?: string;
  readonly path?: string;
  /** Names and values in turn, so that names may repeat. */
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array;
  readonly host?: string;
  readonly signal?: AbortSignal;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body, when it is JSON. */
  readonly json: Record<string, unknown>;
}

export interface TlsOptions {
  readonly ca: string;
  readonly servername: string;
}

export type Http = "http/1.1" | "h2";

/** Rejects when the connection breaks. */
export function send(http: Http, port: number, request: TestRequest, tls?: TlsOptions): Promise<TestAnswer> {
  return http === "h2" ? sendHttp2(port, request, tls) : sendHttp1(port, request, tls);
}

function sendHttp1(
  port: number,
  { method = "GET", path = "/", headers = [], body, host = "127.0.0.1", signal }: TestRequest,
  tls: TlsOptions | undefined,
): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const list = ["host", host, ...headers];
    if (body !== undefined && !headers.includes("transfer-encoding"))
      list.push("content-length", String(Buffer.byteLength(body)));
    const options = { host: "127.0.0.1", port, method, path, headers: list, agent: false, signal } as const;
    const req = tls === undefined ? httpRequest(options) : httpsRequest({ ...options, ...tls });
    req.on("error", reject);
    req.on("response", (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () => resolve(answer(res.statusCode ?? 0, res.headers, chunks)));
    });
    req.end(body);
  });
}

function sendHttp2(
  port: number,
  { method = "GET", path = "/", headers = [], body, host = "127.0.0.1", signal }: TestRequest,
  tls: TlsOptions | undefined,
): Promise<TestAnswer> {
  const options = { ...tls, strictSingleValueFields: false }; // Some command lines send two headers of one name.
  return new Promise((resolve, reject) => {
    const session = connect(`${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, options);
    session.on("error", reject);
    const pseudo = [":method", method, ":path", path, ":scheme", tls === undefined ? "http" : "https", ":authority", host];
    const stream = session.request([...pseudo, ...headers], {
      endStream: body === undefined,
      ...(signal === undefined ? {} : { signal }),
    });
    const chunks: Buffer[] = [];
    let received: IncomingHttpHeaders = {};
    stream.on("response", (fields) => {
      received = fields;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      session.destroy();
      if (stream.rstCode === 0 && received[":status"] !== undefined)
        resolve(answer(Number(received[":status"]), received, chunks));
      else reject(new Error(`stream closed with ${stream.rstCode}`));
    });
    if (body !== undefined) stream.end(body);
  });
}

function answer(status: number, headers: IncomingHttpHeaders, chunks: readonly Buffer[]): TestAnswer {
  const text = Buffer.concat(chunks).toString("utf8");
  return {
    status,
    headers,
    text,
    get json() {
      return JSON.parse(text) as Record<string, unknown>;
    },
  };
}
