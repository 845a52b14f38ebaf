/**
 * Connections survive a stall of the process that serves them. Time is real here, because the behaviour of the event loop is under test.
 */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { createHttpPort, type HttpPort } from "./port.js";

const TIMEOUT_MS = 100;

let server: HttpPort;
let port: number;
beforeAll(async () => {
  const handlers = { request: (_req: unknown, res: { end(text: string): void }) => res.end("served") };
  server = createHttpPort(handlers as never, { clock: systemClock, logger: silentLogger }, { headersTimeoutMs: TIMEOUT_MS });
  ({ port } = await server.listen({ host: "127.0.0.1", port: 0 }));
});
afterAll(() => server.close(0));

/** The event loop stands still. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function connected(): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  socket.on("error", () => undefined);
  const answer = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return { socket, answer };
}

/** Lets the port see what was sent. */
const turns = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

describe("a stall of the process", () => {
  test("does not end a connection whose first bytes arrived in it", async () => {
    const { socket, answer } = await connected();
    await turns();
    socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stall(12 * TIMEOUT_MS);
    expect(await answer).toContain("served");
  });

  test("does not end a connection whose header section was finished in it", async () => {
    const { socket, answer } = await connected();
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n");
    await turns();
    socket.write("connection: close\r\n\r\n");
    stall(4 * TIMEOUT_MS);
    expect(await answer).toContain("served");
  });

  test("does not save a client that sends too little", async () => {
    const silent = await connected();
    const slow = await connected();
    slow.socket.write("GET / HTTP/1.1\r\nhost: x\r\n");
    await turns();
    stall(4 * TIMEOUT_MS);
    expect(await silent.answer).toBe("");
    expect(await slow.answer).toContain("408");
  });
});
