import { EventEmitter } from "node:events";
import { status } from "@grpc/grpc-js";
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import type { Channel, ReadingCall } from "./channel.js";
import { RECONNECT_LONGEST_MS } from "./limits.js";
import { type WatchForm, WatchStream, type WatchTarget } from "./watch-stream.js";

/** A stream that the test ends, and feeds with the functions that read its messages. */
class FakeStream extends EventEmitter {
  isCancelled = false;
  readonly client: string;
  readonly form: string;
  readonly send: (read: () => string) => void;

  constructor(client: string, form: string, send: (read: () => string) => void) {
    super();
    this.client = client;
    this.form = form;
    this.send = send;
  }

  cancel(): void {
    this.isCancelled = true;
    this.emit("error", new Error("cancelled"));
  }
}

/** A watch of the processes a and b in turns, which have two forms. */
function aWatch(nextOf?: (turn: number) => WatchTarget | undefined) {
  const streams: FakeStream[] = [];
  const log: string[] = [];
  const clock = new VirtualClock();
  const form = (name: string): WatchForm<string> => ({
    open(client, onMessage) {
      const stream = new FakeStream(client as unknown as string, name, onMessage);
      streams.push(stream);
      return stream as unknown as ReadingCall<unknown>;
    },
  });
  let turn = 0;
  const target = (): WatchTarget => {
    const name = "ab"[turn++ % 2] as string;
    return { client: name as unknown as Channel, release: () => log.push(`released ${name}`) };
  };
  const watch = new WatchStream<string>(
    { clock },
    {
      forms: [form("new"), form("old")],
      next: () => (nextOf === undefined ? target() : nextOf(turn++)),
      onMessage: (message) => log.push(message),
      onLost: (reason) => log.push(`lost: ${reason}`),
    },
  );
  const last = () => streams.at(-1) as FakeStream;
  return { watch, streams, log, clock, last };
}

test("a lost stream is followed by one of the next process, after a pause", () => {
  const { watch, streams, log, clock, last } = aWatch();
  last().send(() => "one");
  last().emit("end");
  expect([streams.length, last().isCancelled]).toEqual([1, true]);
  clock.runAll();
  last().send(() => "two");
  last().emit("error", new Error("broken"));
  clock.runAll();
  expect(streams.map(({ client }) => client)).toEqual(["a", "b", "a"]);
  expect(log).toEqual(["one", "lost: it closed the stream", "released a", "two", "lost: broken", "released b"]);
  watch.close();
});

test("a message that cannot be read counts as a lost stream", () => {
  const { watch, log, last } = aWatch();
  last().send(() => {
    throw new Error("unreadable");
  });
  last().send(() => "too late");
  expect(log).toEqual(["lost: [OPS0003] internal error", "released a"]);
  watch.close();
});

test("a process that lacks the newest form is watched in the older one, at once", () => {
  const { watch, streams, log, last } = aWatch();
  const unimplemented = Object.assign(new Error("none"), { code: status.UNIMPLEMENTED });
  last().emit("error", unimplemented);
  last().send(() => "in the old form");
  expect(streams.map(({ client, form }) => [client, form])).toEqual([
    ["a", "new"],
    ["a", "old"],
  ]);
  last().emit("error", unimplemented);
  expect(log).toEqual(["in the old form", "lost: none", "released a"]);
  watch.close();
});

test("without a process to watch it tries again after the longest pause", () => {
  const client = "c" as unknown as Channel;
  const { watch, streams, clock } = aWatch((turn) => (turn === 0 ? undefined : { client }));
  clock.advanceBy(RECONNECT_LONGEST_MS - 1);
  expect(streams).toHaveLength(0);
  clock.advanceBy(1);
  expect(streams).toHaveLength(1);
  watch.close();
});

test("a closed watch opens no stream any more and reports nothing", () => {
  const { watch, streams, log, clock, last } = aWatch();
  last().emit("end");
  watch.close();
  clock.runAll();
  streams[0]?.send(() => "too late");
  expect([streams.length, log, clock.pendingTimers]).toEqual([1, ["lost: it closed the stream", "released a"], 0]);
});
