/** A port on a free number, and one request to it over either version of HTTP. */
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { silentLogger, systemClock } from "@perdure/base";
import type { HttpHandlers, HttpPortOptions } from "../options.js";
import { createHttpPort, type HttpPort, type HttpPortDependencies } from "../port.js";

/** Handlers that Node calls with its own request and response. */
export type RequestHandlers = Extract<HttpHandlers, { request: unknown }>;

export const host = "127.0.0.1";
export const dependencies: HttpPortDependencies = { clock: systemClock, logger: silentLogger };

/** A port on a free number; disposing closes it at once. */
export async function open(
  handlers: HttpHandlers,
  options: HttpPortOptions = {},
  ports = dependencies,
): Promise<{ port: number; server: HttpPort } & AsyncDisposable> {
  const server = createHttpPort(handlers, ports, options);
  const { port } = await server.listen({ host, port: 0 });
  return { port, server, [Symbol.asyncDispose]: () => server.close(0) };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export function getHttp1(port: number, path: string, body = ""): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request({ host, port, path, method: "POST", headers: { "content-length": Buffer.byteLength(body) } }, (res) => {
      let text = "";
      res.on("data", (chunk) => {
        text += chunk;
      });
      res.on("end", () => resolve({ status: res.statusCode, headers: res.headers, text }));
    });
    req.on("error", reject);
    req.end(body);
  });
}

export function getHttp2(port: number, path: string, body = ""): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`http://${host}:${port}`);
    session.on("error", reject);
    const stream = session.request({ ":method": "POST", ":path": path, "x-seen": "yes", te: "trailers" });
    let headers: Readonly<Record<string, unknown>> = {};
    let text = "";
    stream.on("response", (received) => {
      headers = received;
    });
    stream.on("data", (chunk) => {
      text += chunk;
    });
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve({ status: Number(headers[":status"]), headers, text });
    });
    stream.end(body);
  });
}

/** Answers with the version of HTTP that the request used. */
export const sayHttpVersion: RequestHandlers = {
  request: (req, res) => void res.end(`HTTP/${req.httpVersion}`),
  stream: (stream) => {
    stream.respond({ ":status": 200 });
    stream.end("HTTP/2");
  },
};
