import { once } from "node:events";
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { http2ProtocolErrors, sendSegments, until, VirtualClock } from "@perdure/testkit";
import { IdleSessions } from "./idle-sessions.js";

interface World extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly idle: IdleSessions;
  readonly port: number;
  readonly reported: ServerHttp2Session[];
}

async function aWorld(): Promise<World> {
  const clock = new VirtualClock();
  const reported: ServerHttp2Session[] = [];
  const idle = new IdleSessions(clock, 1_000, (session) => reported.push(session));
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer((_request, response) => response.end("hi"));
  server.on("sessionError", () => undefined);
  server.on("session", (session) => {
    sessions.add(session);
    idle.watch(session);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    clock,
    idle,
    reported,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A whole request: traffic. */
async function exchange(session: ClientHttp2Session): Promise<void> {
  const stream = session.request({ ":path": "/" });
  stream.resume();
  await once(stream, "close");
  // The server has read the acknowledgements that follow the answer.
  await new Promise<void>((resolve, reject) => session.ping((cause) => (cause === null ? resolve() : reject(cause))));
}

test("a session is idle when nothing was read or written for the whole time, and again after as long", async () => {
  await using world = await aWorld();
  const session = connect(`http://127.0.0.1:${world.port}`);
  await exchange(session);
  world.clock.advanceBy(800);
  await exchange(session);
  world.clock.advanceBy(1_000);
  expect(world.reported).toHaveLength(0); // Only the check at 1,000 comes after the second request.
  world.clock.advanceBy(1_000);
  expect(world.reported).toHaveLength(1);
  world.clock.advanceBy(1_000);
  expect(world.reported).toHaveLength(2);
  session.destroy();
});

test("T21: sessions that break are kept for half a minute, so that their streams are collected first, and no longer", async () => {
  await using world = await aWorld();
  for (const { frames } of http2ProtocolErrors) await sendSegments(world.port, frames("a"));
  await until(() => world.idle.size === 0);
  expect(world.idle.closedCount).toBe(http2ProtocolErrors.length);
  world.clock.advanceBy(29_000);
  expect(world.idle.closedCount).toBe(http2ProtocolErrors.length);
  world.clock.advanceBy(2_000);
  expect(world.idle.closedCount).toBe(0);
  expect(world.clock.pendingTimers).toBe(0);
});
