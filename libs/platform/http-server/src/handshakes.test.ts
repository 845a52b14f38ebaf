/** The timeout for TLS handshakes, of a process that stands still for longer than that. */
import { once } from "node:events";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { connect, createServer } from "node:tls";
import { expect, test } from "@jest/globals";
import { handleErrors, systemClock } from "@perdure/base";
import { makeCertificates } from "@perdure/testkit";
import { boundHandshakes } from "./handshakes.js";

const TIMEOUT_MS = 400;

async function aServer() {
  const { trusted } = await makeCertificates();
  const server = createServer(
    { cert: trusted.certificate, key: trusted.privateKey, handshakeTimeout: 100 * TIMEOUT_MS },
    (socket) => {
      handleErrors(socket);
      socket.end("hello");
    },
  );
  server.on("tlsClientError", (_cause, socket) => {
    handleErrors(socket);
    socket.destroy();
  });
  boundHandshakes(server, systemClock, TIMEOUT_MS);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    port: (server.address() as AddressInfo).port,
    authority: trusted.authority,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test("a handshake that is under way while the process stands still is completed", async () => {
  await using served = await aServer();
  const tcp = connectTcp(served.port, "127.0.0.1");
  await Promise.all([once(served.server, "connection"), once(tcp, "connect")]);
  await new Promise<void>((resolve) => setTimeout(resolve, TIMEOUT_MS / 8));
  const socket = connect({ socket: tcp, ca: served.authority, servername: "localhost" });
  // A client may complete its handshake after the server has given up.
  const done = Promise.race([once(socket, "data").then(() => "served"), once(socket, "close").then(() => "closed")]);
  handleErrors(socket);
  standStill(3 * TIMEOUT_MS);
  expect(await done).toBe("served");
  socket.destroy();
});

test("a connection that never begins one is cut", async () => {
  await using served = await aServer();
  const startedAt = performance.now();
  const tcp = connectTcp(served.port, "127.0.0.1");
  handleErrors(tcp);
  await once(tcp, "close");
  expect(performance.now() - startedAt).toBeGreaterThan(TIMEOUT_MS * 0.9);
  expect(performance.now() - startedAt).toBeLessThan(40 * TIMEOUT_MS);
});
