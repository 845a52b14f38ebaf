/** An HTTP/2 client that breaks the protocol right after a request loses its own connection, and nothing else happens (cloud.md §7 T21). */
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { http2ProtocolErrors, SEGMENTATIONS, sendSegments } from "@perdure/testkit";
import { bearer, type GatewayFixture, hostOf, startGateway, startRuntime, type TestRuntime } from "./fixture.js";

/** The reset must arrive between the request and the answer, which not every turn achieves. */
const CONNECTS = 200;

let runtime: TestRuntime;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
let key: string;
beforeAll(async () => {
  runtime = await startRuntime();
  fixture = await startGateway();
  facts = fixture.environment(runtime);
  key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

async function expectServed(endpoint: "ingress" | "admin"): Promise<void> {
  const answer = await fixture.call("h2", endpoint, facts, { path: "/S/h", headers: bearer(key) });
  expect(answer.status).toBe(200);
}

// An exception that nothing catches fails the test in which it is thrown: in a program it would end the process.
describe.each(["ingress", "admin"] as const)("T21: at the listener %s", (endpoint) => {
  describe.each(Object.entries(SEGMENTATIONS))("%s", (_name, segments) => {
    test.each(http2ProtocolErrors)("$name ends one connection", async ({ frames }) => {
      await sendSegments(fixture.ports[endpoint], segments(frames(hostOf(facts))));
      await expectServed(endpoint);
    });
  });
});

test("T21: a client that requests a tunnel by CONNECT and resets its connection ends nothing else", async () => {
  for (let turn = 0; turn < CONNECTS; turn++) {
    const socket = connect({ port: fixture.ports.ingress, host: "127.0.0.1", noDelay: true });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", () => socket.resetAndDestroy());
    await once(socket, "close");
  }
  await expectServed("ingress");
});
