/** Bodies stream both ways at the pace of the receiver, are bounded, and end when one side disconnects (cloud.md §6.5). */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { until, VirtualClock } from "@perdure/testkit";
import type { Http } from "./client.js";
import { bearer, type GatewayFixture, generousLimits, hostOf, startGateway, startRuntime, type TestRuntime } from "./fixture.js";
import { exchangeRaw, statusesIn } from "./raw.js";

let runtime: TestRuntime;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
let key: string;
const BODY_BYTES_MAX = 100_000;
beforeAll(async () => {
  runtime = await startRuntime();
  fixture = await startGateway();
  facts = fixture.environment(runtime, { limits: { ...generousLimits, bodyBytesMax: BODY_BYTES_MAX } });
  key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

const MIB = 1024 * 1024;

describe.each<Http>(["http/1.1", "h2"])("over %s", (http) => {
  const post = (body: string, headers: readonly string[] = []) =>
    fixture.call(http, "ingress", facts, { method: "POST", path: "/S/h", headers: [...bearer(key), ...headers], body });

  test.each([0, 1, 16_384, 16_385, 99_999, 100_000])(
    "a body of %i bytes arrives whole, with and without a declared length",
    async (size) => {
      const body = "x".repeat(size);
      const declared = await post(body);
      expect([declared.status, (declared.json["body"] as string).length]).toEqual([200, size]);
      if (http === "h2") return; // An HTTP/2 client declares no length anyway.
      const chunked = await post(body, ["transfer-encoding", "chunked"]);
      expect([chunked.status, (chunked.json["body"] as string).length]).toEqual([200, size]);
    },
  );

  test("one byte too many is refused, declared or counted, and the runtime's connection is given up", async () => {
    const abortedBefore = runtime.aborted;
    const startedBefore = runtime.started;
    const counted = await fixture.call(http, "ingress", facts, {
      method: "POST",
      path: "/S/h",
      headers: http === "h2" ? bearer(key) : [...bearer(key), "transfer-encoding", "chunked"],
      body: "x".repeat(BODY_BYTES_MAX + 1),
    });
    expect([counted.status, counted.json["restate_code"]]).toEqual([413, "PERD0413"]);
    await until(() => runtime.aborted - abortedBefore === runtime.started - startedBefore, "the runtime saw the end");
    const before = runtime.started;
    const declared = await fixture.call(http, "admin", facts, {
      method: "POST",
      path: "/deployments",
      headers: http === "h2" ? [...bearer(key), "content-length", String(BODY_BYTES_MAX + 1)] : bearer(key),
      body: "x".repeat(BODY_BYTES_MAX + 1),
    });
    expect([declared.status, declared.json["restate_code"]]).toEqual([413, "PERD0413"]);
    expect(runtime.started).toBe(before);
  });

  test("a runtime that breaks off before it answers is a 502, afterwards the answer breaks off", async () => {
    runtime.script = (req) => req.socket.destroy();
    const early = await fixture.call(http, "admin", facts, { path: "/services", headers: bearer(key) });
    expect([early.status, early.json["restate_code"]]).toEqual([502, "PERD0502"]);
    runtime.script = (_req, res) => {
      res.writeHead(200, { "content-length": "10" });
      res.write("12345", () => res.destroy());
    };
    await expect(fixture.call(http, "admin", facts, { path: "/services", headers: bearer(key) })).rejects.toThrow();
    runtime.script = undefined;
  });

  test.each([0, 50])("a runtime that breaks off amid an answer without a length is a broken answer, %i ms later", async (ms) => {
    runtime.script = (_req, res) => {
      res.writeHead(200);
      res.write("half", () => setTimeout(() => res.destroy(), ms));
    };
    await expect(fixture.call(http, "ingress", facts, { path: "/S/h", headers: bearer(key) })).rejects.toThrow();
    runtime.script = undefined;
  });

  test("a client that disconnects aborts its request at the runtime", async () => {
    runtime.script = () => undefined; // Answers never.
    const before = runtime.aborted;
    const startedBefore = runtime.started;
    const leaving = new AbortController();
    const response = fixture.call(http, "ingress", facts, { path: "/S/h", headers: bearer(key), signal: leaving.signal });
    await until(() => runtime.started === startedBefore + 1, "the runtime got the request");
    leaving.abort();
    await expect(response).rejects.toThrow();
    await until(() => runtime.aborted === before + 1, "the runtime saw the end");
    runtime.script = undefined;
    await until(() => fixture.gateway.inFlight === 0, "nothing is in flight");
  });
});

test("over HTTP/2 both bodies are open at once, and each chunk is forwarded when it arrives", async () => {
  runtime.script = (req, res) => {
    res.writeHead(200);
    req.on("data", (chunk: Buffer) => res.write(`<${chunk.toString()}>`));
    req.on("end", () => res.end());
  };
  const session = connect(`http://127.0.0.1:${fixture.ports.ingress}`);
  const stream = session.request({
    ":method": "POST",
    ":path": "/S/h",
    ":authority": hostOf(facts),
    authorization: `Bearer ${key}`,
  });
  stream.setEncoding("utf8").write("one");
  expect(await once(stream, "data")).toEqual(["<one>"]);
  stream.write("two");
  expect(await once(stream, "data")).toEqual(["<two>"]);
  stream.end();
  stream.resume();
  await once(stream, "end");
  session.destroy();
  runtime.script = undefined;
});

test("100 MiB are forwarded at the pace of the reader, and little of it is held in memory", async () => {
  const chunk = Buffer.alloc(64 * 1024, 120);
  let written = 0;
  runtime.script = (_req, res) => {
    res.writeHead(200, { "content-type": "application/octet-stream" });
    const more = (): void => {
      while (written < 100 * MIB) {
        written += chunk.length;
        if (!res.write(chunk)) return void res.once("drain", more);
      }
      res.end();
    };
    more();
  };
  let received = 0;
  let held = 0;
  await new Promise<void>((resolve, reject) => {
    const req = httpRequest(
      {
        port: fixture.ports.admin,
        host: "127.0.0.1",
        method: "POST",
        path: "/query",
        headers: { host: hostOf(facts), authorization: `Bearer ${key}` },
        agent: false,
      },
      (res) => {
        res.on("data", (bytes: Buffer) => {
          received += bytes.length;
          held = Math.max(held, written - received);
          if (received > MIB && received < MIB + 2 * bytes.length) {
            // The sender is paused while the reader pauses: no process buffers the rest.
            res.pause();
            nextTurn()
              .then(() => new Promise((later) => setTimeout(later, 100)))
              .then(() => {
                expect(written).toBeLessThan(20 * MIB);
                res.resume();
              })
              .catch(reject);
          }
        });
        res.on("end", resolve);
        res.on("error", reject);
      },
    );
    req.on("error", reject);
    req.end();
  });
  runtime.script = undefined;
  expect(received).toBe(100 * MIB);
  expect(held).toBeLessThan(32 * MIB); // In the gateway and in the sockets around it, together.
}, 60_000);

describe("in virtual time", () => {
  test("a call of almost six hours completes, management must begin to answer within a minute", async () => {
    const clock = new VirtualClock();
    await using own = await startGateway({ clock });
    let answer: () => void = () => undefined;
    await using slow = await startRuntime((_req, res) => {
      answer = () => res.end("done");
    });
    const place = own.environment(slow);
    const headers = bearer(own.tenancy.addKey(place.id, "rst:role::FullAccess"));
    const call = own.call("http/1.1", "ingress", place, { path: "/S/h", headers });
    await until(() => slow.started === 1, "the runtime got the request");
    clock.advanceBy(5.9 * 3_600_000);
    answer();
    expect(await call).toMatchObject({ status: 200, text: "done" });
    const list = own.call("http/1.1", "admin", place, { path: "/services", headers });
    await until(() => slow.started === 2, "the runtime got a second request");
    clock.advanceBy(62_000);
    expect((await list).json).toMatchObject({ code: 504, restate_code: "PERD0504" });
    const query = own.call("http/1.1", "admin", place, { method: "POST", path: "/v4/query", headers, body: "{}" });
    await until(() => slow.started === 3, "the runtime got a third request");
    clock.advanceBy(300_000);
    answer();
    expect((await query).status).toBe(200);
  });

  test("T22: a body that trickles in is given up after half a minute", async () => {
    const clock = new VirtualClock();
    await using own = await startGateway({ clock });
    const place = own.environment(runtime);
    const own_key = own.tenancy.addKey(place.id, "rst:role::FullAccess");
    const startedBefore = runtime.started;
    const head = `POST /S/h HTTP/1.1\r\nhost: ${hostOf(place)}\r\nauthorization: Bearer ${own_key}\r\ncontent-length: 90000\r\n\r\nx`;
    const exchanged = exchangeRaw(own.ports.ingress, head, { done: (text) => text.endsWith("}") });
    await until(() => runtime.started === startedBefore + 1, "the runtime got the request");
    clock.advanceBy(31_000);
    expect(statusesIn((await exchanged).received)).toEqual([408]);
  });
});
