import { EventEmitter } from "node:events";
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { Http2Guard } from "./http2-guard.js";

const CONTROL_FRAMES_MAX = 100;
const CONTROL_WINDOW_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;
const PING_TIMEOUT_MS = 20_000;

/** The part of a session that the guard uses. */
class Session extends EventEmitter {
  destroyed = false;
  readonly goaways: number[] = [];
  /** Answers of the peer to PINGs, in the order of the PINGs. */
  readonly pendingAnswers: (() => void)[] = [];

  ping(answered: () => void): void {
    this.pendingAnswers.push(answered);
  }
  goaway(code: number): void {
    this.goaways.push(code);
  }
  destroy(): void {
    this.destroyed = true;
  }
}

function guarded() {
  const session = new Session();
  const clock = new VirtualClock();
  let floods = 0;
  const guard = new Http2Guard(session as unknown as ServerHttp2Session, clock, {
    controlFramesMax: CONTROL_FRAMES_MAX,
    controlWindowMs: CONTROL_WINDOW_MS,
    keepAliveMs: KEEP_ALIVE_MS,
    pingTimeoutMs: PING_TIMEOUT_MS,
    flooded: () => void floods++,
  });
  const open = (): EventEmitter => {
    const stream = new EventEmitter();
    guard.opened(stream as unknown as ServerHttp2Stream);
    return stream;
  };
  /** Sweeps at intervals, as the listener does. */
  const pass = (ms: number): void => {
    clock.advanceBy(ms);
    guard.sweep(clock.monotonicMs());
  };
  return { session, guard, open, pass, floods: () => floods };
}

test("a silent peer with open requests gets PINGs, again and again while it answers", () => {
  const { session, open, pass } = guarded();
  open();
  pass(KEEP_ALIVE_MS - 1);
  expect(session.pendingAnswers).toHaveLength(0);
  for (let n = 1; n <= 3; n++) {
    pass(KEEP_ALIVE_MS);
    expect(session.pendingAnswers).toHaveLength(n);
    session.pendingAnswers[n - 1]?.();
    pass(PING_TIMEOUT_MS + 1);
    expect(session.destroyed).toBe(false);
  }
});

test("a peer that does not answer is closed; one without requests gets no PING", () => {
  const { session, open, pass, guard } = guarded();
  pass(10 * KEEP_ALIVE_MS);
  expect([session.pendingAnswers.length, guard.isIdle]).toEqual([0, true]);
  const stream = open();
  pass(1);
  expect(session.pendingAnswers).toHaveLength(1);
  pass(PING_TIMEOUT_MS);
  expect(session.destroyed).toBe(false);
  pass(1);
  expect(session.destroyed).toBe(true);
  stream.emit("close");
  expect(guard.isIdle).toBe(true);
  pass(10 * KEEP_ALIVE_MS);
  expect(session.pendingAnswers).toHaveLength(1);
});

test("T21: free frames are counted in windows; one above the bound closes the connection with ENHANCE_YOUR_CALM", () => {
  const { session, open, pass, floods } = guarded();
  const frames = [
    () => session.emit("ping"),
    () => session.emit("remoteSettings"),
    () => {
      const stream = open();
      stream.emit("aborted");
      stream.emit("close");
    },
  ];
  const send = (count: number): void => {
    for (let n = 0; n < count; n++) frames[n % frames.length]?.();
  };
  send(CONTROL_FRAMES_MAX);
  pass(CONTROL_WINDOW_MS);
  send(CONTROL_FRAMES_MAX);
  expect([session.goaways, session.destroyed, floods()]).toEqual([[], false, 0]);
  send(1);
  expect([session.goaways, session.destroyed, floods()]).toEqual([[constants.NGHTTP2_ENHANCE_YOUR_CALM], true, 1]);
  send(1);
  expect(floods()).toBe(1);
});
