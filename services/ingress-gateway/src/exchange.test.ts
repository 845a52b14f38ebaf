import { describe, expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { BodyGate, type IngressBodyReading } from "./body-reading.js";
import { type ExchangeOwner, IngressExchange } from "./exchange.js";

class FakeExchange extends IngressExchange {
  readonly written: unknown[] = [];
  abortCount = 0;
  broken = false;
  override startBody(reading: IngressBodyReading): void {
    this.reading = reading;
  }
  protected override write(status: number, _headers: string[], body: Uint8Array | string): void {
    if (this.broken) throw new TypeError("invalid header");
    this.written.push(status, body);
  }
  protected override abort(): void {
    this.abortCount++;
  }
  goAway(): void {
    this.abandon();
  }
}

function anExchange(rawHeaders: readonly string[] = []): { exchange: FakeExchange; outcomes: unknown[] } {
  const outcomes: unknown[] = [];
  const owner: ExchangeOwner = {
    completed: (_exchange, status) => outcomes.push(status ?? "abandoned"),
    broke: (_exchange, cause) => outcomes.push(cause),
  };
  return { exchange: new FakeExchange(owner, "POST", "/S/h", rawHeaders), outcomes };
}

describe("an exchange", () => {
  test("is answered once", () => {
    const { exchange, outcomes } = anExchange();
    exchange.send(200, [], "a");
    exchange.send(500, [], "b");
    exchange.goAway();
    expect(exchange.written).toEqual([200, "a"]);
    expect(outcomes).toEqual([200]);
  });

  test("that was abandoned detaches its observer and is not answered any more", () => {
    const { exchange, outcomes } = anExchange();
    let detached = 0;
    exchange.waiting = { detach: () => detached++ };
    exchange.goAway();
    exchange.goAway();
    exchange.send(200, [], "a");
    expect({ detached, written: exchange.written, outcomes }).toEqual({ detached: 1, written: [], outcomes: ["abandoned"] });
  });

  test("cancels its body when it is abandoned", () => {
    const clock = new VirtualClock();
    const gate = new BodyGate(clock, { requestBytesMax: 10, bufferedBodyBytesMax: 10, bodyTimeoutMs: 1000 });
    const { exchange } = anExchange();
    const bodies: Uint8Array[] = [];
    const reading = gate.open({ body: (bytes) => bodies.push(bytes), bodyFailed() {} });
    exchange.startBody(reading);
    exchange.goAway();
    reading.end();
    expect(bodies).toEqual([]);
  });

  test("whose response cannot be written drops the connection and reports the reason", () => {
    const { exchange, outcomes } = anExchange();
    exchange.broken = true;
    exchange.send(200, [], "a");
    expect(exchange.abortCount).toBe(1);
    expect(outcomes).toEqual([expect.any(TypeError), 200]);
  });
});

describe("headers that mean something", () => {
  test("are found in upper and lower case, the first of repeated ones", () => {
    const { exchange } = anExchange([
      ...["Content-Type", "a/b", "content-type", "c/d", "CONTENT-LENGTH", "12", "Transfer-Encoding", "chunked"],
      ...["Idempotency-Key", "", "idempotency-key", "k", "X-Restate-Limit-Key", "l", "Origin", "o"],
      ...["TraceParent", "p", "TraceState", "s", "abcdef", "x", "abcdefghijkl", "x"],
    ]);
    expect(exchange).toMatchObject({
      contentType: "a/b",
      contentLength: 12,
      chunked: true,
      idempotencyKey: "",
      limitKey: "l",
      origin: "o",
      traceparent: "p",
      tracestate: "s",
    });
  });

  test("are undefined when they are absent", () => {
    const { exchange } = anExchange(["x", "y"]);
    expect([exchange.contentType, exchange.contentLength, exchange.idempotencyKey, exchange.origin]).toEqual(
      Array(4).fill(undefined),
    );
    expect(exchange.chunked).toBe(false);
  });

  test("others are read on demand", () => {
    expect(anExchange(["X-Other", "1", "x-other", "2"]).exchange.header("x-other")).toBe("1");
    expect(anExchange([]).exchange.header("x-other")).toBeUndefined();
  });
});
