/** Finding the process that uses a port may run a program. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { checkAddress, checkUnshared } from "./listener.js";

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

test("a port that the listeners of this process share is refused while another program shares it", async () => {
  const [first, second] = [createServer(), createServer()];
  first.listen({ host: "127.0.0.1", port: 0, reusePort: true });
  await once(first, "listening");
  const { port } = first.address() as AddressInfo;
  second.listen({ host: "127.0.0.1", port, reusePort: true });
  await once(second, "listening");
  const settings = { bindAddress: "127.0.0.1", bindPort: port };
  checkUnshared(settings, port, "ingress.bind-port");

  const program = `require("node:net").createServer().listen({ host: "127.0.0.1", port: ${port}, reusePort: true }, () => console.log("bound"))`;
  const other = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(other.stdout, "data");
    expect(() => checkUnshared(settings, port, "ingress.bind-port")).toThrow(
      `[RT0004] cannot listen on 127.0.0.1:${port} (ingress.bind-port): used by process ${other.pid} (`,
    );
  } finally {
    other.kill("SIGKILL");
    await once(other, "exit");
  }
  checkUnshared(settings, port, "ingress.bind-port");
  first.close();
  second.close();
});
