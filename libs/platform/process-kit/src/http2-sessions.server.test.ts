import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "@jest/globals";
import { FRAME, HTTP2_PREFACE, headerBlock, http2Frame, WINDOWS_WIDE_OPEN } from "@perdure/testkit";

const END_HEADERS = 4;
const END_STREAM = 1;
const program = new URL("../test/http2-writer.ts", import.meta.url).pathname;
const subject = new URL("./http2-sessions.ts", import.meta.url).pathname;

const head = (fields: Record<string, string>): Buffer => http2Frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields));
/** Without END_HEADERS: more fields would follow. */
const trailers = http2Frame(FRAME.headers, END_STREAM, 1, headerBlock({ "x-first": "a value", "x-second": "another" }));
const ofClient = [
  HTTP2_PREFACE,
  WINDOWS_WIDE_OPEN,
  head({ ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "a" }),
  trailers,
];
const ofServer = [WINDOWS_WIDE_OPEN, head({ ":status": "200" }), trailers];

let ended: Promise<unknown> | undefined;
let child: ChildProcess | undefined;

function start(side: "server" | "client", port: number, keeping: readonly string[]) {
  const started = spawn(process.execPath, ["--expose-gc", "--no-warnings", program, side, String(port), ...keeping], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  child = started;
  ended = once(started, "exit");
  return started;
}

afterEach(async () => {
  child?.kill("SIGKILL");
  await ended;
});

/** Reads nothing, so that the other side's last write never ends, and leaves. */
async function sendAndLeave(socket: Socket, frames: readonly Buffer[]): Promise<void> {
  socket.on("error", () => {});
  socket.write(Buffer.concat(frames));
  await new Promise((resolve) => setTimeout(resolve, 150));
  socket.destroy();
}

/** Sends unfinished trailers to a server until it ends, over at most `connections` of them; returns what ended it, or null. */
async function endOfServer(connections: number, ...keeping: string[]): Promise<NodeJS.Signals | number | null> {
  const server = start("server", 0, keeping);
  const [port] = await once(createInterface(server.stdout), "line");
  for (let sent = 0; sent < connections && server.signalCode === null; sent += 20) {
    await Promise.all(Array.from({ length: 20 }, () => sendAndLeave(connect(Number(port), "127.0.0.1"), ofClient)));
  }
  return server.signalCode ?? server.exitCode;
}

/** The same with a client, whose requests get unfinished trailers. */
async function endOfClient(connections: number, ...keeping: string[]): Promise<NodeJS.Signals | number | null> {
  let answered = 0;
  const peer = createServer((socket) => void sendAndLeave(socket, ofServer).then(() => answered++));
  await new Promise<void>((resolve) => peer.listen(0, "127.0.0.1", resolve));
  const client = start("client", Object(peer.address()).port, keeping);
  while (answered < connections && client.signalCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => peer.close(resolve));
  return client.signalCode ?? client.exitCode;
}

describe.each([
  ["server", endOfServer],
  ["client", endOfClient],
])("a %s whose peer begins trailers and never ends them", (_side, endOf) => {
  test("continues", async () => {
    expect(await endOf(100, subject)).toBeNull();
  });

  // When this fails, Node.js has fixed it, and the module can be deleted.
  test("is ended by Node.js without the module", async () => {
    expect(await endOf(4000)).toBe("SIGABRT");
  });
});
