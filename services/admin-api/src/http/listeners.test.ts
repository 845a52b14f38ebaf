/** Every answer of the management API stays within the number of listeners at which Node warns of a leak. */
import { EventEmitter } from "node:events";
import { connect } from "node:http2";
import { describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { createHttpPort } from "@perdure/http-server";
import { Sampler, tracedEdge } from "@perdure/telemetry";
import type { AnyResponse } from "./respond.js";
import { routerOf } from "./route.js";
import { serve } from "./server.js";

/** A traced and measured server whose one route streams, and the maximum number of listeners of its answers for one event. */
async function aServer() {
  const most = new Map<string, number>();
  let answer: AnyResponse | undefined;
  const count = (emitter: EventEmitter | undefined, what: string): void => {
    for (const event of emitter?.eventNames() ?? []) {
      const key = `${what} ${String(event)}`;
      most.set(key, Math.max(most.get(key) ?? 0, emitter?.listenerCount(event) ?? 0));
    }
  };
  async function* rows(): AsyncIterable<Uint8Array> {
    for (let n = 0; n < 3; n++) {
      yield Buffer.from(`{"row":${n}}\n`.repeat(100));
      count(answer as unknown as EventEmitter, "answer");
      count((answer as { stream?: EventEmitter }).stream, "stream");
      count((answer as { socket?: EventEmitter }).socket, "socket");
    }
  }
  const random = systemRandom;
  const tracer = { enabled: true, record() {} };
  const sampler = new Sampler({ ratio: 1 }, random);
  const edge = tracedEdge({ tracer, sampler, clock: systemClock, random, logger: silentLogger }, "server");
  const handle = () =>
    ({ status: 200, headers: {}, body: { kind: "stream", contentType: "text/plain", chunks: rows() } }) as const;
  const route = { path: "/rows", operations: { GET: { summary: "Rows", answers: { 200: "Rows" }, handle } } };
  const inner = serve(routerOf([route], { measure: () => undefined, clock: systemClock, edge }), silentLogger);
  const request: typeof inner = (req, res) => {
    answer = res;
    inner(req, res);
  };
  const port = createHttpPort({ request }, { clock: systemClock, logger: silentLogger }, {});
  const address = await port.listen({ host: "127.0.0.1", port: 0 });
  return { url: `http://127.0.0.1:${address.port}`, most, close: () => port.close(100) };
}

async function overHttp2(url: string, encoding: string): Promise<number> {
  const session = connect(url);
  const stream = session.request({ ":path": "/rows", "accept-encoding": encoding });
  let bytes = 0;
  for await (const chunk of stream) bytes += (chunk as Uint8Array).length;
  session.close();
  return bytes;
}

async function overHttp1(url: string, encoding: string): Promise<number> {
  const response = await fetch(`${url}/rows`, { headers: { "accept-encoding": encoding } });
  return (await response.arrayBuffer()).byteLength;
}

describe.each([
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
])("over %s", (_, read) => {
  test.each(["identity", "gzip", "zstd"])(
    "a streamed answer (%s) of a traced and measured request has few listeners",
    async (encoding) => {
      const { url, most, close } = await aServer();
      expect(await read(url, encoding)).toBeGreaterThan(10);
      await close();
      expect(most.size).toBeGreaterThan(0);
      expect([...most].filter(([, count]) => count >= EventEmitter.defaultMaxListeners)).toEqual([]);
    },
  );
});
