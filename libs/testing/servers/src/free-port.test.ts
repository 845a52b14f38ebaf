import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { freePortRange, freePorts } from "./free-port.js";
import { PORT_STRIPES } from "./limits.js";

test("ports are all different, also those of the next call, and none is one that the system gives out", async () => {
  const ports = [...(await freePorts(40)), ...(await freePorts(40))];
  expect(new Set(ports).size).toBe(80);
  const others = createServer().listen(0, "127.0.0.1");
  await once(others, "listening");
  expect(Math.max(...ports)).toBeLessThan((others.address() as { port: number }).port);
  others.close();
});

test("a port with a listener is passed over", async () => {
  const [port] = (await freePorts(1)) as [number];
  const next = port + PORT_STRIPES;
  const occupant = createServer().listen(next, "127.0.0.1");
  await once(occupant, "listening");
  expect(await freePorts(3)).not.toContain(next);
  occupant.close();
});

test("adjacent ports are free, differ from range to range, and are none of the single ports", async () => {
  const ranges = [await freePortRange(40), await freePortRange(40)] as const;
  for (const { first, last } of ranges) expect(last - first).toBe(39);
  expect(ranges[0].last < ranges[1].first || ranges[1].last < ranges[0].first).toBe(true);
  const lowest = Math.min(...ranges.map(({ first }) => first));
  expect(Math.max(...(await freePorts(200)))).toBeLessThan(lowest);
});

test("a range in which a port is in use is passed over", async () => {
  const { last } = await freePortRange(10);
  const inUse = createServer().listen(last + 5, "127.0.0.1");
  await once(inUse, "listening");
  const next = await freePortRange(10);
  expect(next.first > last + 5 || next.last < last + 5).toBe(true);
  inUse.close();
});

test("more adjacent ports than there are is an error", async () => {
  await expect(freePortRange(100_000)).rejects.toThrow("no 100000 adjacent ports");
});
