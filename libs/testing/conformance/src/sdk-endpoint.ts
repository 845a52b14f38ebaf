/**
 * Endpoints with the published SDK in the process of the test, so that tests can observe handlers. Options choose what varies between
 * deployments: transport, protocol mode, and the protocol versions that it declares.
 */
import { createServer as createHttp1Server, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import { createEndpointHandler, type EndpointOptions } from "@restatedev/restate-sdk";

export type ServiceDefinitions = EndpointOptions["services"];

/** Transport and mode; plain `h1` and `h2` are the HTTP versions of the connection. */
export type EndpointKind = "h2-bidi" | "h2-request-response" | "h1-request-response";

export interface SdkEndpointOptions {
  readonly services: ServiceDefinitions;
  readonly kind?: EndpointKind;
  /** Declares this as the only version. */
  readonly protocolVersion?: 5 | 6 | 7;
  /** Inactivity timeout of all services; the server's default when not set. */
  readonly inactivityMs?: number;
  readonly identityKeys?: string[];
  /** A fixed port, for an endpoint that is restarted at the same address. */
  readonly port?: number;
  /** Called with the headers of every request before the SDK handles it. */
  readonly onRequest?: (path: string, headers: Readonly<Record<string, string | string[] | undefined>>) => void;
}

type Handler = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) => void;

export class SdkEndpoint implements AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly kind: EndpointKind;
  readonly #listener: TestListener;

  private constructor(listener: TestListener, kind: EndpointKind) {
    this.#listener = listener;
    this.port = listener.port;
    this.kind = kind;
    this.url = `http://127.0.0.1:${listener.port}`;
  }

  static async start(options: SdkEndpointOptions): Promise<SdkEndpoint> {
    const kind = options.kind ?? "h2-bidi";
    // The SDK's handler accepts both HTTP versions; its type has two overloads.
    const sdk = createEndpointHandler({
      services: options.services,
      bidirectional: kind === "h2-bidi",
      logger: () => {},
      ...(options.inactivityMs === undefined ? {} : { defaultServiceOptions: { inactivityTimeout: options.inactivityMs } }),
      ...(options.identityKeys === undefined ? {} : { identityKeys: options.identityKeys }),
    }) as Handler;
    const discovery = options.protocolVersion === undefined ? undefined : await rewrittenManifest(sdk, options.protocolVersion);
    const handle: Handler = (request, response) => {
      const path = request.url ?? "";
      options.onRequest?.(path, request.headers);
      if (discovery !== undefined && path === "/discover") answerDiscovery(response, discovery);
      else sdk(request, response);
    };
    const listener = await TestListener.open(
      kind === "h1-request-response" ? createHttp1Server(handle) : createHttp2Server(handle),
      options.port ?? 0,
    );
    return new SdkEndpoint(listener, kind);
  }

  get usesHttp11(): boolean {
    return this.kind === "h1-request-response";
  }

  /** Destroys every open connection, as a crash of its host does, and keeps listening. */
  dropConnections(): void {
    this.#listener.dropConnections();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#listener.close();
  }
}

/** A listening server and its sockets, which are closed with it. */
export class TestListener {
  readonly port: number;
  readonly #server: NetServer;
  readonly #sockets = new Set<Socket>();

  private constructor(server: NetServer, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  static open(server: NetServer, port: number): Promise<TestListener> {
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
    // A killed server breaks connections at any point, which is expected here.
    server.on("sessionError", () => {});
    server.on("clientError", (_error: Error, socket: Socket) =>
      socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"),
    );
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => resolve(new TestListener(server, sockets)));
    });
  }

  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.dropConnections();
    });
  }
}

interface Discovery {
  readonly contentType: string;
  readonly body: string;
}

function answerDiscovery(response: ServerResponse | Http2ServerResponse, { contentType, body }: Discovery): void {
  response.statusCode = 200;
  response.setHeader("content-type", contentType);
  response.end(body);
}

/** The SDK's manifest with another range of versions. */
async function rewrittenManifest(sdk: Handler, version: number): Promise<Discovery> {
  const listener = await TestListener.open(createHttp1Server(sdk), 0);
  try {
    const contentType = "application/vnd.restate.endpointmanifest.v4+json";
    const text = await get(listener.port, "/discover", contentType);
    const manifest = { ...(JSON.parse(text) as object), minProtocolVersion: version, maxProtocolVersion: version };
    return { contentType, body: JSON.stringify(manifest) };
  } finally {
    await listener.close();
  }
}

function get(port: number, path: string, accept: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path, headers: { accept }, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => resolve(Buffer.concat(chunks).toString()));
    })
      .on("error", reject)
      .end();
  });
}
