/** The Kafka client computes a pause that may be negative, for which Node prints a warning: the log of a server does not have it. */

import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { service } from "@restatedev/restate-sdk";
import { eventually, TestWorld } from "../src/index.js";

const jobs = service({ name: "Jobs", handlers: { run: async (_ctx: unknown, n: number) => n } });

/** Connections whose first request the broker has answered. */
let answered = 0;
let broker: Server;
const sockets = new Set<Socket>();
let world: TestWorld;
beforeAll(async () => {
  broker = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", (request) => {
      answered++;
      socket.write(noVersions(request.readInt32BE(8)));
    });
  });
  await new Promise<void>((resolve) => broker.listen(0, "127.0.0.1", resolve));
  world = await TestWorld.start();
  await world.deploy({ services: [jobs] });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => broker.close(resolve));
});

/** A response to ApiVersions that has no API. Only a response makes the client compute the pause. */
function noVersions(correlationId: number): Uint8Array {
  const bytes = Buffer.alloc(18); // Size, correlation id, error code, number of APIs, throttle time.
  bytes.writeInt32BE(14, 0);
  bytes.writeInt32BE(correlationId, 4);
  return bytes;
}

test("a broker that responds causes no warning of Node", async () => {
  const brokers = `127.0.0.1:${(broker.address() as AddressInfo).port}`;
  const cluster = await world.admin.post("/kafka-clusters", { name: "k", properties: { "bootstrap.servers": brokers } });
  expect(cluster.status).toBe(201);
  const subscription = await world.admin.post("/subscriptions", {
    source: "kafka://k/topic",
    sink: "service://Jobs/run",
    options: { "retry.backoff.ms": "10" },
  });
  expect(subscription.status).toBe(201);
  await eventually("the client tries again after a response", () => answered >= 3);
  expect(world.server.lines.filter((line) => line.includes("TimeoutNegativeWarning"))).toEqual([]);
});
