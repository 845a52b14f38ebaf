/** Binds a server to its address. */
import type { AddressInfo, Server } from "node:net";
import { invariant, type Logger, PerdureError } from "@perdure/base";

/** `port` 0 takes a free one; without `host`, every address of the machine. */
export interface ListenAddress {
  readonly host?: string;
  readonly port: number;
  /** Several listeners of this machine's user share the port, and the kernel spreads new connections among them (`SO_REUSEPORT`, Linux). */
  readonly reusePort?: boolean;
}

/** Connections that the kernel may hold before they are accepted: a burst of new clients within one turn of the event loop. */
const BACKLOG = 1024;

/** Rejects with RT0004 when the address cannot be bound; later errors of the listening socket are logged. */
export function bindTo(server: Server, { host, port, reusePort = false }: ListenAddress, logger: Logger): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const failed = (cause: Error): void => {
      reject(new PerdureError("RT0004", `cannot listen on ${host ?? "*"}:${port}: ${cause.message}`, { cause }));
    };
    server.once("error", failed);
    server.listen({ port, host, backlog: BACKLOG, reusePort }, () => {
      server.off("error", failed);
      server.on("error", (cause) => logger.warn({ cause: cause.message }, "listening socket failed"));
      const address = server.address();
      invariant(typeof address === "object" && address !== null, "a server that listens on a port has its address");
      resolve(address);
    });
  });
}
