import { describe, expect, test } from "@jest/globals";
import { BodyGate, type BodyReceiver, HttpExchange } from "@perdure/http-server";
import { VirtualClock } from "@perdure/testkit";
import { type ExchangeOwner, IngressExchange } from "./exchange.js";

class FakeHttp extends HttpExchange {
  readonly isHttp2 = false;
  readonly remoteAddress = "";
  readonly isSecure = false;
  readonly serverName = undefined;
  readonly bodyIsComplete = false;
  readonly written: unknown[] = [];
  cuts = 0;
  broken = false;
  startBody(_receiver: BodyReceiver): void {}
  pauseBody(): void {}
  resumeBody(): void {}
  drop(): void {}
  protected begin(): void {}
  protected push(): boolean {
    return true;
  }
  protected complete(): void {}
  protected sendWhole(status: number, _headers: string[], body: Uint8Array | string): void {
    if (this.broken) throw new TypeError("invalid header");
    this.written.push(status, body);
  }
  protected cut(): void {
    this.cuts++;
  }
  goAway(): void {
    this.abandoned();
  }
}

function anExchange(rawHeaders: readonly string[] = []): { exchange: IngressExchange; http: FakeHttp; outcomes: unknown[] } {
  const outcomes: unknown[] = [];
  const owner: ExchangeOwner = {
    completed: (_exchange, status) => outcomes.push(status ?? "abandoned"),
    broke: (_exchange, cause) => outcomes.push(cause),
  };
  const http = new FakeHttp("POST", "/S/h", rawHeaders);
  return { exchange: new IngressExchange(owner, http), http, outcomes };
}

describe("an exchange", () => {
  test("is answered once", () => {
    const { exchange, http, outcomes } = anExchange();
    exchange.send(200, [], "a");
    exchange.send(500, [], "b");
    http.goAway();
    expect(http.written).toEqual([200, "a"]);
    expect(outcomes).toEqual([200]);
  });

  test("that was abandoned detaches its observer and is not answered any more", () => {
    const { exchange, http, outcomes } = anExchange();
    let detached = 0;
    exchange.waiting = { detach: () => detached++ };
    http.goAway();
    http.goAway();
    exchange.send(200, [], "a");
    expect({ detached, written: http.written, outcomes }).toEqual({ detached: 1, written: [], outcomes: ["abandoned"] });
  });

  test("cancels its body when it is abandoned", () => {
    const clock = new VirtualClock();
    const gate = new BodyGate(clock, { requestBytesMax: 10, bufferedBodyBytesMax: 10, bodyTimeoutMs: 1000 });
    const { exchange, http } = anExchange();
    const bodies: Uint8Array[] = [];
    const reading = gate.open({ body: (bytes) => bodies.push(bytes), bodyFailed() {} });
    exchange.startBody(reading);
    http.goAway();
    reading.end();
    expect(bodies).toEqual([]);
  });

  test("whose response cannot be written drops the connection and reports the reason", () => {
    const { exchange, http, outcomes } = anExchange();
    http.broken = true;
    exchange.send(200, [], "a");
    expect(http.cuts).toBe(1);
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
