import { EventEmitter } from "node:events";
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { Http2Guard } from "./http2-guard.js";
import { CONTROL_FRAMES_MAX, CONTROL_WINDOW_MS, KEEP_ALIVE_MS, PING_TIMEOUT_MS } from "./limits.js";

/** What a guard uses of a session. */
class Session extends EventEmitter {
  destroyed = false;
  readonly goaways: number[] = [];
  /** Answers of the peer, in the order in which it was asked. */
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
  const guard = new Http2Guard(session as unknown as ServerHttp2Session, clock, () => floods++);
  const open = (): EventEmitter => {
    const stream = new EventEmitter();
    guard.opened(stream as unknown as ServerHttp2Stream);
    return stream;
  };
  /** As the listener does it, now and then. */
  const pass = (ms: number): void => {
    clock.advanceBy(ms);
    guard.sweep(clock.monotonicMs());
  };
  return { session, guard, open, pass, floods: () => floods };
}

test("whoever waits on a silent connection is asked whether they are there, again and again while they say so", () => {
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

test("one that does not answer is given up; one without requests is not asked", () => {
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

test("T21: as many free frames as any program needs are counted anew in each window; one more and it is told to calm down", () => {
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
