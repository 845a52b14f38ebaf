import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "@jest/globals";
import { type Clock, systemClock } from "./clock.js";
import { boundHalfClose } from "./half-close.js";

/** Two ends of a connection; the second never ends on its own. */
async function twoEnds(): Promise<{ readonly near: Socket; readonly far: Socket } & AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const far = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  const [near] = (await once(server, "connection")) as [Socket];
  far.resume();
  near.resume();
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      near.destroy();
      far.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Stores the timers that are set; a test fires them. */
function heldTimers(): { readonly clock: Clock; readonly timers: Map<() => void, number> } {
  const timers = new Map<() => void, number>();
  const setTimer: Clock["setTimer"] = (delayMs, fire) => {
    timers.set(fire, delayMs);
    return { cancel: () => void timers.delete(fire) };
  };
  return { clock: { ...systemClock, setTimer }, timers };
}

test("a socket whose peer does not end its side is destroyed after the timeout", async () => {
  const { clock, timers } = heldTimers();
  await using ends = await twoEnds();
  boundHalfClose(ends.near, clock, 1_000);
  expect(timers.size).toBe(0); // Neither side has ended.
  const finished = once(ends.near, "finish");
  ends.near.end();
  await finished;
  expect([...timers.values()]).toEqual([1_000]);
  for (const fire of timers.keys()) fire();
  expect(ends.near.destroyed).toBe(true);
});

test("a peer that ends its side in time leaves no timer behind", async () => {
  const { clock, timers } = heldTimers();
  await using ends = await twoEnds();
  boundHalfClose(ends.near, clock, 1_000);
  const closed = once(ends.near, "close");
  ends.near.end();
  await once(ends.far, "end");
  ends.far.end();
  await closed;
  expect(timers.size).toBe(0);
});
