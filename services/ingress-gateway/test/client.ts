/** One request over a real socket, by HTTP/1.1 or by HTTP/2 with prior knowledge; the response in one shape. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";

export type Http = "http/1.1" | "h2c";
export const bothProtocols: readonly Http[] = ["http/1.1", "h2c"];

export interface TestRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  /** Leave the request open behind the body. */
  readonly unfinished?: boolean;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export interface Client extends AsyncDisposable {
  /** Rejects when the connection breaks, or with an AbortError. */
  send(request: TestRequest, signal?: AbortSignal): Promise<TestAnswer>;
}

export function openClient(http: Http, port: number): Client {
  return http === "h2c" ? openHttp2(port) : openHttp1(port);
}

function openHttp1(port: number): Client {
  const agent = new Agent({ keepAlive: true });
  return {
    send: ({ method = "POST", path, headers = {}, body, unfinished }, signal) =>
      new Promise((resolve, reject) => {
        // Node's client frames bodies of GET and the like only when configured to.
        const framed = body === undefined || unfinished || "transfer-encoding" in headers || "content-length" in headers;
        const fields = framed ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) };
        const req = httpRequest({ host: "127.0.0.1", port, agent, method, path, headers: fields, signal });
        req.on("error", reject);
        req.on("response", (res) => {
          const chunks: Buffer[] = [];
          res.on("data", (chunk: Buffer) => chunks.push(chunk));
          res.on("error", reject);
          res.on("end", () => resolve(answer(res.statusCode ?? 0, res.headers, chunks)));
        });
        if (unfinished !== true) req.end(body);
        else if (body === undefined) req.flushHeaders();
        else req.write(body);
      }),
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

function openHttp2(port: number): Client {
  const session: ClientHttp2Session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {}); // Its streams report the error to their callers.
  return {
    send: ({ method = "POST", path, headers = {}, body, unfinished }, signal) =>
      new Promise((resolve, reject) => {
        const fields: Record<string, string> = { ":method": method, ":path": path };
        for (const [name, value] of Object.entries(headers)) {
          if (name.toLowerCase() !== "transfer-encoding") fields[name.toLowerCase()] = value;
        }
        const endStream = body === undefined && unfinished !== true;
        const stream = session.request(fields, { endStream, ...(signal && { signal }) });
        const chunks: Buffer[] = [];
        let received: IncomingHttpHeaders | undefined;
        stream.on("response", (responseHeaders) => {
          received = responseHeaders;
        });
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          if (received !== undefined) resolve(answer(Number(received[":status"]), received, chunks));
        });
        stream.on("error", reject);
        stream.on("close", () => reject(new Error(`stream closed with ${stream.rstCode}`))); // Without effect behind "end".
        if (unfinished !== true && !endStream) stream.end(body);
        else if (body !== undefined) stream.write(body);
      }),
    async [Symbol.asyncDispose]() {
      session.destroy();
    },
  };
}

function answer(status: number, headers: IncomingHttpHeaders, chunks: readonly Buffer[]): TestAnswer {
  const body = Buffer.concat(chunks);
  return { status, headers, body, text: body.toString("utf8") };
}
