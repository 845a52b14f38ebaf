import { describe, expect, test } from "@jest/globals";
import { MessagePace } from "./pace.js";

describe("the pace of an attempt", () => {
  const limits = { messagesPerSecond: 100, bytesPerSecond: 1_000 };

  test("passes five seconds' worth of messages at once, and then waits until the rate has paid for the rest", () => {
    const pace = new MessagePace(limits, 0);
    expect(pace.delayMs({ messages: 500, bytes: 0 }, 0)).toBe(0);
    expect(pace.delayMs({ messages: 550, bytes: 0 }, 0)).toBe(500);
    expect(pace.delayMs({ messages: 550, bytes: 0 }, 500)).toBe(0);
  });

  test("bounds bytes as well as messages", () => {
    const pace = new MessagePace(limits, 0);
    expect(pace.delayMs({ messages: 1, bytes: 2_000 }, 0)).toBe(0);
    expect(pace.delayMs({ messages: 2, bytes: 5_000 }, 0)).toBe(3_000);
  });

  test("saves up no more than the reserve, however long the attempt was quiet", () => {
    const pace = new MessagePace(limits, 0);
    expect(pace.delayMs({ messages: 0, bytes: 0 }, 3_600_000)).toBe(0);
    expect(pace.delayMs({ messages: 600, bytes: 0 }, 3_600_000)).toBe(1_000);
  });

  test("never slows down an attempt that keeps to the rates", () => {
    const pace = new MessagePace(limits, 0);
    const delays = Array.from({ length: 1_000 }, (_, n) => pace.delayMs({ messages: n, bytes: 10 * n }, 10 * n));
    expect(delays.every((delayMs) => delayMs === 0)).toBe(true);
  });

  test("waits long enough for several messages, so that timers are few", () => {
    const pace = new MessagePace(limits, 0);
    expect(pace.delayMs({ messages: 501, bytes: 0 }, 0)).toBe(20);
  });
});
