/** Endpoints that speak HTTP/2 with prior knowledge, and transports to them. */
import { createServer, type Http2Server, type Http2Session, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { systemClock, systemRandom } from "@perdure/base";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { createHttpTransport } from "../src/index.js";
import { listen, type SdkEndpoint } from "./sdk-endpoint.js";

type StreamHandler = (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void;

interface TestServer extends SdkEndpoint {
  readonly sessions: ServerHttp2Session[];
}

export async function serve(handle: StreamHandler, settings: Parameters<typeof createServer>[0] = {}): Promise<TestServer> {
  const server: Http2Server = createServer(settings);
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {}); // Resets are what these tests are about.
    handle(stream, headers);
  });
  const listening = await listen(server);
  return { uri: listening.uri, sessions, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

/** Resolves when the client has handled all frames that were sent before. */
export function handled(session: Http2Session): Promise<void> {
  return new Promise((resolve, reject) => session.ping((cause) => (cause === null ? resolve() : reject(cause))));
}

export function aTransport(): EndpointTransport {
  return createHttpTransport({ clock: systemClock, random: systemRandom });
}

export const echo: StreamHandler = (stream) => {
  stream.respond({ ":status": 200 });
  stream.pipe(stream);
};

/** Whether the connection takes a byte. */
export async function write(socket: Socket): Promise<boolean> {
  const isWritten = await new Promise<boolean>((resolve) => {
    socket.write("x", (cause) => resolve(cause === undefined || cause === null));
  });
  await new Promise<void>((resolve) => setTimeout(resolve, 1));
  return isWritten;
}
