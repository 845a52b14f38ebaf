import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { freePorts } from "./free-port.js";
import { PORT_STRIPES } from "./limits.js";

test("ports are all different, also those of the next who asks, and none is one that the system gives to others", async () => {
  const ports = [...(await freePorts(40)), ...(await freePorts(40))];
  expect(new Set(ports).size).toBe(80);
  const others = createServer().listen(0, "127.0.0.1");
  await once(others, "listening");
  expect(Math.max(...ports)).toBeLessThan((others.address() as { port: number }).port);
  others.close();
});

test("a port that somebody listens on is passed over", async () => {
  const [port] = (await freePorts(1)) as [number];
  const next = port + PORT_STRIPES;
  const occupant = createServer().listen(next, "127.0.0.1");
  await once(occupant, "listening");
  expect(await freePorts(3)).not.toContain(next);
  occupant.close();
});
