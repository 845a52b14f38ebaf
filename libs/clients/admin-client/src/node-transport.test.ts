import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import { type NodeTransport, nodeTransport } from "./node-transport.js";
import type { TransportRequest } from "./transport.js";

let server: Server | undefined;
let transport: NodeTransport | undefined;

afterEach(async () => {
  transport?.[Symbol.dispose]();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
});

async function serve(answer: RequestListener): Promise<(request?: Partial<TransportRequest>) => Promise<string>> {
  const listening = createServer(answer);
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const keeping = nodeTransport();
  transport = keeping;
  const url = new URL(`http://127.0.0.1:${(listening.address() as AddressInfo).port}/x`);
  return async (request = {}) => {
    const whole = { method: "GET", url, headers: {}, body: undefined, signal: undefined, isRepeatable: false, ...request };
    const { status, body, header } = await keeping.send(whole);
    return `${status} ${header("x-a") ?? "-"} ${new TextDecoder().decode(body)}`;
  };
}

test("sends bodies with their length and returns the whole answer, whatever its status", async () => {
  const request = await serve((request, response) => {
    const { "content-length": length, "transfer-encoding": encoding } = request.headers;
    response.writeHead(418, { "x-a": "b" }).write(`${request.method} ${length} ${encoding} `);
    request.pipe(response);
  });
  expect(await request({ method: "POST", body: "häl" })).toBe("418 b POST 4 undefined häl");
  expect(await request()).toBe("418 b GET undefined undefined ");
});

/** Closes each connection when its second request arrives. */
function forgetful(): RequestListener {
  const usedSockets = new WeakSet<Socket>();
  return (request, response) => {
    if (usedSockets.has(request.socket)) return void request.socket.destroy();
    usedSockets.add(request.socket);
    response.end("here");
  };
}

test("repeats only repeatable requests after the server has closed the connection", async () => {
  const request = await serve(forgetful());
  expect(await request()).toBe("200 - here");
  expect(await request({ isRepeatable: true })).toBe("200 - here");
  await expect(request({ method: "POST", body: "1" })).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("ends with the signal's reason", async () => {
  const reason = new Error("enough");
  const stop = new AbortController();
  const request = await serve(() => stop.abort(reason));
  await expect(request({ signal: stop.signal })).rejects.toBe(reason);
});
