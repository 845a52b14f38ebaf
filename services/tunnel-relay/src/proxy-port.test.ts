/** The timeout for headers, with a clock that jumps as it does for a process that was suspended. */
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { makeCertificates, VirtualClock } from "@perdure/testkit";
import { HEADERS_TIMEOUT_MS } from "./limits.js";
import { openProxyPort } from "./proxy-port.js";

async function aProxyPort() {
  const clock = new VirtualClock();
  const paths: string[] = [];
  const port = await openProxyPort(
    (request) => {
      paths.push(request.path);
      request.send(200);
    },
    { host: "127.0.0.1", port: 0, certificates: undefined },
    { clock, logger: silentLogger },
  );
  return {
    clock,
    paths,
    /** A connection that has sent the beginning of a header section, and the response until it closes. */
    async begun() {
      const socket = connect(port.address.port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => {
        text += String(chunk);
      });
      const closed = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
      await new Promise<void>((resolve) => socket.write("GET /late HTTP/1.1\r\nhost: x\r\n", () => resolve()));
      while (clock.pendingTimers < 1) await new Promise<void>((resolve) => setImmediate(resolve));
      return { socket, closed };
    },
    [Symbol.asyncDispose]: () => port.close(),
  };
}

test("a header section that was finished while the relay was suspended is served", async () => {
  await using proxy = await aProxyPort();
  const { socket } = await proxy.begun();
  await new Promise<void>((resolve) => socket.write("\r\n", () => resolve()));
  proxy.clock.advanceBy(6 * HEADERS_TIMEOUT_MS); // Before the event loop reads again.
  while (proxy.paths.length === 0 && !socket.destroyed) await new Promise<void>((resolve) => setImmediate(resolve));
  expect(proxy.paths).toEqual(["/late"]);
  socket.destroy();
});

test("a header section that is never finished is answered 408", async () => {
  await using proxy = await aProxyPort();
  const { closed } = await proxy.begun();
  proxy.clock.advanceBy(2 * HEADERS_TIMEOUT_MS);
  expect(await closed).toContain("408");
  expect(proxy.paths).toEqual([]);
});

test.each([
  ["in the open", false],
  ["in TLS", true],
])("a later header section of a connection that is never finished is answered 408 %s", async (_title, isSecure) => {
  const pair = isSecure ? (await makeCertificates()).trusted : undefined;
  const certificates = pair === undefined ? undefined : { current: pair, onChange() {} };
  await using port = {
    opened: await openProxyPort(
      (request) => {
        request.send(200);
      },
      { host: "127.0.0.1", port: 0, certificates },
      { clock: systemClock, logger: silentLogger, headersTimeoutMs: 200 },
    ),
    [Symbol.asyncDispose]: () => port.opened.close(),
  };
  const target = { port: port.opened.address.port, host: "127.0.0.1" };
  const socket = pair === undefined ? connect(target) : connectTls({ ...target, ca: pair.authority, servername: "localhost" });
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write("GET /first HTTP/1.1\r\nhost: x\r\n\r\n");
  while (!text.includes("200")) await new Promise<void>((resolve) => setTimeout(resolve, 5));
  socket.write("GET /slow HTTP/1.1\r\n");
  const drip = setInterval(() => socket.write("x: y\r\n"), 100);
  await closed;
  clearInterval(drip);
  expect(text).toContain("408");
});
