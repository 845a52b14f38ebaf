/** Clients over HTTP/2 that stop reading in the middle of an answer. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { createHttpPort } from "./port.js";

/** More than the kernel's buffers of both ends take. */
const STUCK_BYTES = 32 * 1024 * 1024;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** SETTINGS and WINDOW_UPDATE that let the server send as much as it likes, and `GET /` of authority `a`. */
const REQUEST = Uint8Array.from([
  ...[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff],
  ...[0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0],
  ...[0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x86, 0x41, 1, 0x61],
]);

test("a client that reads nothing does not keep a port from closing", async () => {
  let begun: () => void = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const server = createHttpPort(
    {
      request: (_req, res) => {
        res.write(new Uint8Array(STUCK_BYTES));
        begun();
      },
    },
    { clock: systemClock, logger: silentLogger },
  );
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const client = connect(port, "127.0.0.1").on("error", () => {});
  await once(client, "connect");
  client.pause();
  client.write(PREFACE);
  client.write(REQUEST);
  await hasBegun;
  await new Promise<void>((resolve) => setTimeout(resolve, 100)); // What the kernel takes has been written.
  await server.close(50);
  expect(server.closing).toBe(true);
  client.destroy();
});
