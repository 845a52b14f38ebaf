/** Events between `connect` and the first SETTINGS: each waiting stream begins or fails, and none is lost. */
import { createServer, type Socket } from "node:net";
import { expect, test } from "@jest/globals";
import { type Clock, systemClock, systemRandom, type TimerHandle } from "@perdure/base";
import { SeededRandom, until } from "@perdure/testkit";
import { createHttpTransport } from "../src/index.js";
import { type RawServer, serveRaw } from "./raw-http2.js";
import { open, type Recorder } from "./recorder.js";
import { listen } from "./sdk-endpoint.js";

const SETTINGS = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/** Time of a process that stands now and then: timers that fall due meanwhile fire late, those that they set do not fire yet. */
class StallingClock implements Clock {
  #atMs = 0;
  readonly #timers = new Set<{ readonly dueMs: number; readonly fire: () => void }>();

  nowMs(): number {
    return this.#atMs;
  }
  monotonicMs(): number {
    return this.#atMs;
  }
  setTimer(delayMs: number, fire: () => void): TimerHandle {
    const timer = { dueMs: this.#atMs + delayMs, fire };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }
  stand(ms: number): void {
    this.#atMs += ms;
    for (const timer of [...this.#timers].filter(({ dueMs }) => dueMs <= this.#atMs))
      if (this.#timers.delete(timer)) timer.fire();
  }
}

const turns = () => new Promise<void>((resolve) => setTimeout(resolve, 50));

/** Accepts connections, and sends the bytes of the test. */
async function scripted(accepted: (socket: Socket, number: number) => void) {
  let count = 0;
  return listen(createServer((socket) => accepted(socket.on("error", () => {}).resume() as Socket, ++count)));
}

async function manyOn(uri: string, count: number, act?: () => Promise<void>): Promise<readonly Recorder[]> {
  await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const streams = Array.from({ length: count }, () => open(transport, uri).recorder);
  await act?.();
  for (const recorder of streams) await recorder.until(({ over, status }) => over || status === 200);
  const begun = streams.filter(({ status }) => status === 200);
  for (const recorder of streams) if (!begun.includes(recorder)) expect(recorder.failure).toBeDefined();
  return streams;
}

test("a process that stood while it connected reads the SETTINGS that have arrived before it gives up", async () => {
  const sockets: Socket[] = [];
  await using server = await scripted((socket) => sockets.push(socket));
  const clock = new StallingClock();
  await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
  const { recorder } = open(transport, server.uri);
  await until(() => sockets.length === 1);
  clock.stand(15_000);
  expect(recorder.over).toBe(false);
  sockets[0]!.write(Uint8Array.from(SETTINGS));
  await until(() => transport.connections().open === 1);
  expect(recorder.over).toBe(false);
});

test("a process that stands all the time gives up in the end", async () => {
  await using server = await scripted(() => {});
  const clock = new StallingClock();
  await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
  const { recorder } = open(transport, server.uri);
  let stands = 0;
  for (; !recorder.over && stands < 1_000; stands++) clock.stand(5_000);
  expect([stands, recorder.failure?.message]).toEqual([100, expect.stringContaining("it accepted no connection")]);
});

test("a peer that resets each connection right after its SETTINGS leaves no stream waiting", async () => {
  await using server = await scripted((socket) =>
    socket.write(Uint8Array.from(SETTINGS), () => setImmediate(() => socket.resetAndDestroy())),
  );
  const streams = await manyOn(server.uri, 300);
  expect(new Set(streams.map(({ failure }) => failure?.kind))).not.toContain(undefined);
});

test("GOAWAY before SETTINGS, or in the same segment, fails the waiting streams and opens another connection for the next ones", async () => {
  for (const bytes of [GOAWAY, [...SETTINGS, ...GOAWAY]]) {
    await using server = await scripted((socket) => socket.write(Uint8Array.from(bytes)));
    const streams = await manyOn(server.uri, 300);
    expect(streams.every(({ failure }) => failure !== undefined)).toBe(true);
  }
});

test("streams wait for a peer that allows none at first, and begin when it allows some", async () => {
  await using server: RawServer = await serveRaw((peer, streamId) => peer.headers(streamId, true), 0);
  const streams = await manyOn(server.uri, 20, async () => {
    // One for each stream, and more, as none of them takes any.
    await until(() => server.peers.length >= 20);
    await turns();
    for (const peer of server.peers.slice(0, 4)) peer.settings(5);
  });
  expect(streams.every(({ status }) => status === 200)).toBe(true);
});

test("when the last connection ends while streams wait, another one serves them", async () => {
  const streams: [number, number][] = [];
  await using server = await serveRaw((peer, streamId) => {
    streams.push([server.peers.indexOf(peer), streamId]);
    if (server.peers.length > 64) peer.headers(streamId, true);
  }, 1);
  const recorder = await manyOn(server.uri, 100, async () => {
    await until(() => streams.length === 64);
    for (const { socket } of [...server.peers]) socket.end();
  });
  expect(recorder.filter(({ status }) => status === 200)).toHaveLength(36);
  expect(recorder.filter(({ failure }) => failure?.kind === "reset")).toHaveLength(64);
});
