/** A TCP proxy to a local port whose connections can be cut. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Wire extends AsyncDisposable {
  readonly port: number;
  /** Closes all connections in both directions with a FIN; new ones are accepted. */
  cut(): void;
}

export async function aWire(to: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on("error", () => one.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Destroying a socket with unread bytes sends an RST instead, upon which the official command line ends: "connection reset".
  const cut = (): void => {
    for (const socket of sockets) socket.unpipe().resume().end();
  };
  const destroy = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      destroy();
      await closed;
    },
  };
}
