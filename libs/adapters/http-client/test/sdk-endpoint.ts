/** Endpoints of the published TypeScript SDK on a free port, over HTTP/2 prior knowledge or HTTP/1.1. */
import { createServer as createHttp1Server, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import * as restate from "@restatedev/restate-sdk";

export interface SdkEndpoint extends AsyncDisposable {
  readonly uri: string;
}

export type Services = Parameters<typeof restate.createEndpointHandler>[0]["services"];

export async function serveSdk(
  services: Services,
  { http = 2, identityKeys, bidirectional }: { http?: 1 | 2; identityKeys?: string[]; bidirectional?: boolean } = {},
): Promise<SdkEndpoint> {
  const handler = restate.createEndpointHandler({
    services,
    logger: () => {},
    ...(identityKeys === undefined ? {} : { identityKeys }),
    ...(bidirectional === undefined ? {} : { bidirectional }),
  });
  const server: Server | Http2Server =
    http === 2 ? createHttp2Server(handler) : createHttp1Server(handler as Parameters<typeof createHttp1Server>[1] & object);
  return listen(server);
}

/** Serves on a free port; disposing breaks what is still open. */
export async function listen(server: Server | Http2Server | import("node:net").Server): Promise<SdkEndpoint> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
