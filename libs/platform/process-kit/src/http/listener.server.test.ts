/** Finding the process that uses a port may run a program. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { checkAddress } from "./listener.js";

test("an address is in use, too, while its listener lets others share the port", async () => {
  const server = createServer().listen({ host: "127.0.0.1", port: 0, reusePort: true });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const settings = { bindAddress: "127.0.0.1", bindPort: port };
  await expect(checkAddress(settings, "ingress.bind-port")).rejects.toMatchObject({
    code: "RT0004",
    detail: expect.stringContaining("(ingress.bind-port): in use by process"),
  });
  await new Promise((resolve) => server.close(resolve));
  await checkAddress(settings, "ingress.bind-port");
});
