/** Clients over HTTP/2 that stop reading in the middle of an answer. */
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { STUCK_BYTES, stuckClient } from "@perdure/testkit";
import { createHttpPort } from "./port.js";

test("a client that reads nothing does not keep a port from closing", async () => {
  const answered = Promise.withResolvers<void>();
  const server = createHttpPort(
    {
      request: (_req, res) => {
        res.write(new Uint8Array(STUCK_BYTES));
        answered.resolve();
      },
    },
    { clock: systemClock, logger: silentLogger },
  );
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const client = await stuckClient(port, answered.promise);
  await server.close(50);
  expect(server.closing).toBe(true);
  client.destroy();
});
