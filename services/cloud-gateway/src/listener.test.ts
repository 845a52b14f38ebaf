/** The timeout for headers, with a clock that jumps as it does for a process that was stopped. */
import { connect, type Socket } from "node:net";
import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { ConnectionCount } from "./connection-count.js";
import { HEADERS_TIMEOUT_MS } from "./limits.js";
import { createListener } from "./listener.js";

async function aListener() {
  const clock = new VirtualClock();
  const served: string[] = [];
  const handlers = {
    request: ({ target }: { readonly target: string }) => void served.push(target),
    unreadable: ({ status }: { readonly status: number }) => JSON.stringify({ status }),
    flooded: () => undefined,
  };
  const ports = { clock, logger: silentLogger, connections: new ConnectionCount(10) };
  const listener = createListener(handlers, undefined, ports);
  const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
  const sockets: Socket[] = [];
  return {
    clock,
    served,
    /** A connection that has sent the beginning of a header section; it collects the answer until the connection closes. */
    async begun() {
      const socket = connect(port, "127.0.0.1");
      sockets.push(socket);
      let text = "";
      socket.on("data", (chunk) => {
        text += String(chunk);
      });
      const closed = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
      await new Promise<void>((resolve) => socket.write("GET /late HTTP/1.1\r\nhost: x\r\n", () => resolve()));
      // The timer of this connection's header section.
      while (clock.pendingTimers < 1) await new Promise<void>((resolve) => setImmediate(resolve));
      return { socket, closed };
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      const closing = listener.close(0);
      clock.advanceBy(0);
      await closing;
    },
  };
}

test("a header section that was completed while the gateway was stopped is served", async () => {
  await using listener = await aListener();
  const { socket } = await listener.begun();
  await new Promise<void>((resolve) => socket.write("\r\n", () => resolve()));
  listener.clock.advanceBy(6 * HEADERS_TIMEOUT_MS); // Before the event loop reads again.
  while (listener.served.length === 0 && !socket.destroyed) await new Promise<void>((resolve) => setImmediate(resolve));
  expect(listener.served).toEqual(["/late"]);
});

test("a header section that is never finished is refused in JSON", async () => {
  await using listener = await aListener();
  const { closed } = await listener.begun();
  listener.clock.advanceBy(2 * HEADERS_TIMEOUT_MS);
  expect(await closed).toMatch(/^HTTP\/1\.1 408 [\s\S]*\{"status":408\}$/);
  expect(listener.served).toEqual([]);
});
