/** A service behind a tunnel client that returns facts of the request and echoes its body. */
import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { type OwnClient, ownClient, type Tenant, type World } from "./fixture.js";

export interface Local extends AsyncDisposable {
  readonly port: number;
  /** Paths, in order. */
  readonly requests: string[];
  /** Headers of the last request. */
  readonly last: Readonly<Record<string, unknown>>;
}

/** `/slow…` waits for the end of its request before it answers; everything else echoes at once. */
export async function aLocal(): Promise<Local> {
  const requests: string[] = [];
  const sessions = new Set<ServerHttp2Session>();
  let last: Readonly<Record<string, unknown>> = {};
  const server = createServer();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    const path = String(headers[":path"]);
    requests.push(path);
    last = headers;
    if (path.includes("/slow")) {
      stream.resume();
      stream.on("end", () => {
        stream.respond({ ":status": 200 });
        stream.end("slow");
      });
      return;
    }
    stream.respond({ ":status": 200, "x-of": "local" });
    stream.pipe(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    get last() {
      return last;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

/** A service and the client that serves it through the relay: `t/http/localhost/1/…` by default. */
export interface Served extends AsyncDisposable {
  readonly local: Local;
  readonly client: OwnClient;
}

/** Resolves when the relay has registered the tunnel. */
export async function aServed(
  world: Pick<World, "tunnelUrl" | "tenant">,
  { tenant = world.tenant, tunnelPort = 1 }: { readonly tenant?: Tenant; readonly tunnelPort?: number } = {},
): Promise<Served> {
  const local = await aLocal();
  const client = ownClient(world, tenant, { locals: [{ tunnelPort, host: "127.0.0.1", port: local.port }] });
  await client.tunnel.ready;
  return {
    local,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await local[Symbol.asyncDispose]();
    },
  };
}
