/** A caller that violates HTTP/2 right behind its request ends its own connection, and the ingress continues. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { FRAME, headerBlock, http2Frame, http2ProtocolErrors, SEGMENTATIONS, sendSegments } from "@perdure/testkit";
import { openClient } from "./client.js";
import { type Fixture, startIngress } from "./fixture.js";

const END_HEADERS = 4;
const END_STREAM = 1;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startIngress();
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

const post = (flags: number, more: Readonly<Record<string, string>>): Buffer =>
  http2Frame(
    FRAME.headers,
    flags,
    1,
    headerBlock({ ":method": "POST", ":scheme": "http", ":path": "/Greeter/greet", ":authority": "a", ...more }),
  );

// An exception that nothing catches fails the test in which it is thrown: in a program it would end the process.
test.each(Object.entries(SEGMENTATIONS))("T21: protocol errors behind a call %s", async (_name, segments) => {
  for (const { frames } of http2ProtocolErrors) {
    await sendSegments(fixture.port, segments(frames("a", post(END_HEADERS | END_STREAM, {}))));
    await sendSegments(fixture.port, segments(frames("a", post(END_HEADERS, { expect: "100-continue" }))));
  }
  await using client = openClient("h2c", fixture.port);
  expect((await client.send({ method: "GET", path: "/restate/health" })).status).toBe(200);
  expect(fixture.complaints).toEqual([]);
});
