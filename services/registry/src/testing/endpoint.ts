/** An endpoint for discovery: a server that returns a manifest, or misbehaves on request. */
import { createServer as createHttp1Server, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo, Socket } from "node:net";

/** The response of an endpoint; a function may depend on the request. */
export interface EndpointScript {
  status?: number;
  contentType?: string;
  /** A manifest as an object, or any text. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface TestEndpoint extends AsyncDisposable {
  /** URI without a trailing slash. */
  readonly uri: string;
  /** Received requests, oldest first. */
  readonly requests: { path: string; headers: Record<string, unknown> }[];
  /** Responses from now on; several are used one by one, the last one stays. */
  say(...scripts: EndpointScript[]): void;
}

/** A manifest of version 4 with the fields every SDK sends. */
export function aManifest(services: readonly object[], change: object = {}): object {
  return { protocolMode: "BIDI_STREAM", minProtocolVersion: 5, maxProtocolVersion: 7, services, ...change };
}

/** A service as a manifest describes it. */
export function aWireService(name: string, handlers: readonly string[], change: object = {}): object {
  return { name, ty: "SERVICE", handlers: handlers.map((handler) => ({ name: handler })), ...change };
}

/** Listens on a free port of the loopback interface. */
export async function startEndpoint(http: "h2c" | "http1", ...scripts: EndpointScript[]): Promise<TestEndpoint> {
  let queue = scripts;
  const requests: TestEndpoint["requests"] = [];
  const answer = (req: IncomingMessage, res: ServerResponse) => {
    requests.push({ path: req.url ?? "", headers: { ...req.headers } });
    const script = queue[0] ?? {};
    if (queue.length > 1) queue = queue.slice(1);
    const body = typeof script.body === "string" ? script.body : JSON.stringify(script.body ?? aManifest([]));
    res.writeHead(script.status ?? 200, {
      "content-type": script.contentType ?? "application/vnd.restate.endpointmanifest.v4+json",
      ...script.headers,
    });
    res.end(body);
  };
  const server: Server | Http2Server = http === "h2c" ? createHttp2Server(answer as never) : createHttp1Server(answer);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    say(...next) {
      queue = next;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
