/** A client that breaks HTTP/2 right behind its request ends its own connection, whatever answers the request. */
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { FRAME, headerBlock, http2Frame, http2ProtocolErrors, SEGMENTATIONS, sendSegments } from "@perdure/testkit";
import type { HttpPortOptions } from "./options.js";
import { createHttpPort } from "./port.js";
import type { RequestHandlers } from "./testing/port.js";

const END_HEADERS = 4;
const refusing = { hidden: [], refusal: () => ({ status: 403, headers: {}, body: "{}" }) };
const bridged: RequestHandlers = { request: (req, res) => void req.resume().on("end", () => res.end("ok")) };
const streamed: RequestHandlers = {
  ...bridged,
  stream(stream) {
    stream.respond({ ":status": 200 });
    stream.end("ok");
  },
};

const CASES: readonly (readonly [string, RequestHandlers, HttpPortOptions])[] = [
  ["a stream that is translated to a request", bridged, {}],
  ["a handler of streams that answers at once", streamed, {}],
  ["a guard that refuses the stream", streamed, { guard: refusing }],
  ["a guard that refuses the request", bridged, { guard: refusing }],
];

/** A POST whose client waits for `100 Continue`. */
const expecting = http2Frame(
  FRAME.headers,
  END_HEADERS,
  1,
  headerBlock({ ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "a", expect: "100-continue" }),
);

test("an answer with a status that HTTP/2 does not have becomes 500", async () => {
  const handlers: RequestHandlers = { request: (_req, res) => void res.writeHead(700).end() };
  const server = createHttpPort(handlers, { clock: systemClock, logger: silentLogger });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  expect(await statusOf(port)).toBe(500);
  await server.close(0);
});

function statusOf(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`).on("error", reject);
    const stream = session.request({ ":path": "/" }).on("error", reject);
    stream.on("response", (headers) => {
      session.close();
      resolve(Number(headers[":status"]));
    });
    stream.resume();
  });
}

// An exception that nothing catches fails the test in which it is thrown: in a program it would end the process.
describe.each(CASES)("T21: %s", (_name, handlers, options) => {
  test.each(Object.entries(SEGMENTATIONS))("survives every protocol error %s", async (_segmentation, segments) => {
    const server = createHttpPort(handlers, { clock: systemClock, logger: silentLogger }, options);
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    for (const { frames } of http2ProtocolErrors) {
      await sendSegments(port, segments(frames("a")));
      await sendSegments(port, segments(frames("a", expecting)));
    }
    expect(await statusOf(port)).toBe(options.guard === undefined ? 200 : 403);
    await server.close(0);
  });
});
