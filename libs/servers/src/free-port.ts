/** Why: tests run beside each other and beside real servers, so nobody may own a fixed port. */
import { createServer } from "node:net";

/** A port of 127.0.0.1 that nobody listened on a moment ago. Asked together, `count` different ones. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  return ports;
}

function listen(): Promise<ReturnType<typeof createServer>> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject).listen(0, "127.0.0.1", () => resolve(server));
  });
}
