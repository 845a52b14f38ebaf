/** Tests the order with a real server: `PERDURE=/path/to/perdure node --test test/order.spec.ts`. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { order } from "../src/order.ts";
import { startServer, type TestServer } from "./server.ts";

const endpoint = createServer(createEndpointHandler({ services: [order] }));
let server: TestServer;
before(async () => {
  await once(endpoint.listen(0), "listening");
  const { port } = endpoint.address() as AddressInfo;
  server = await startServer();
  await server.register(`http://127.0.0.1:${port}`);
});
after(async () => {
  await server.stop();
  endpoint.close();
});

test("an approved order is shipped", async () => {
  await server.send("/Order/a/run", { item: "lamp", amount: 49, remindAfterSeconds: 3600 });
  await server.call("/Order/a/decide", true);
  assert.equal(await server.result("/restate/workflow/Order/a/attach"), "a: shipped");
});

test("an order that is not approved is refunded", async () => {
  await server.send("/Order/b/run", { item: "chair", amount: 120, remindAfterSeconds: 3600 });
  await server.call("/Order/b/decide", false);
  assert.equal(await server.result("/restate/workflow/Order/b/attach"), "b: refunded");
});

test("an order is charged once, however often it is requested", async () => {
  await server.send("/Order/c/run", { item: "table", amount: 300, remindAfterSeconds: 3600 });
  const second = await server.send("/Order/c/run", { item: "table", amount: 300, remindAfterSeconds: 3600 });
  assert.equal(second["status"], "PreviouslyAccepted");
});
