/**
 * HTTP clients of the suites. Unlike `fetch` they send exactly what a test passes (paths byte by byte, any method, any header) and close
 * their sockets.
 */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { ANSWER_BYTES_MAX, CLIENT_SOCKETS_MAX, REQUEST_MS } from "./limits.js";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** Undefined when the body is not JSON. */
  readonly json: unknown;
}

export interface RequestOptions {
  /** Sent as JSON with its content type; excludes `body`. */
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly withinMs?: number;
}

export class HttpClient implements Disposable {
  readonly base: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CLIENT_SOCKETS_MAX });

  constructor(base: string) {
    this.base = new URL(base);
  }

  /** Rejects when no complete answer arrives; resolves for any status. */
  request(method: string, path: string, options: RequestOptions = {}): Promise<HttpAnswer> {
    const body = options.json === undefined ? options.body : JSON.stringify(options.json);
    const headers: Record<string, string> = { ...options.headers };
    if (options.json !== undefined) headers["content-type"] ??= "application/json";
    if (body !== undefined && headers["transfer-encoding"] === undefined)
      headers["content-length"] ??= String(Buffer.byteLength(body));
    return this.#exchange(method, path, headers, body, options.withinMs ?? REQUEST_MS);
  }

  #exchange(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: string | Uint8Array | undefined,
    withinMs: number,
  ): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.base;
      const request = httpRequest({ hostname, port, method, path, headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size > ANSWER_BYTES_MAX) request.destroy(new Error(`${method} ${path}: an answer without end`));
        });
        response.on("end", () => {
          clearTimeout(timer);
          resolve(answerOf(response.statusCode ?? 0, response.headers, Buffer.concat(chunks)));
        });
        response.on("error", reject);
      });
      const timer = setTimeout(() => request.destroy(new Error(`${method} ${path}: no answer within ${withinMs} ms`)), withinMs);
      request.on("error", (cause) => {
        clearTimeout(timer);
        reject(cause);
      });
      request.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

function answerOf(status: number, headers: IncomingHttpHeaders, bytes: Buffer): HttpAnswer {
  const text = bytes.toString("utf8");
  return { status, headers, bytes, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
