/** A raw TCP client, for bytes that no HTTP library would send. */
import { connect } from "node:net";

/** Writes `bytes`, then collects received bytes until the peer ends, `done` returns true, or `timeoutMs` is over. */
export function exchangeRaw(
  port: number,
  bytes: string | Uint8Array,
  options: { readonly done?: (received: string) => boolean; readonly timeoutMs?: number } = {},
): Promise<{ readonly received: string; readonly closed: boolean }> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ received, closed });
    };
    const timer = setTimeout(() => finish(false), options.timeoutMs ?? 5_000);
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      if (options.done?.(received) === true) finish(false);
    });
    socket.on("end", () => finish(true));
    socket.on("error", (cause: NodeJS.ErrnoException) => {
      // The peer may close while the client is still writing: that is an end too.
      if (cause.code === "ECONNRESET" || cause.code === "EPIPE") finish(true);
      else reject(cause);
    });
  });
}

/** Status codes of the answers in a text, in order. */
export function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}
