/** Requests beyond a limit of the ingress, and the largest that pass. */

import { describe, expect, test } from "@jest/globals";
import { until } from "@perdure/testkit";
import { bothProtocols, openClient } from "./client.js";
import { startIngress, success } from "./fixture.js";
import { exchangeRaw, parseAnswers, post } from "./raw.js";

const octets = { "content-type": "application/octet-stream" };
const health = { method: "GET", path: "/restate/health" } as const;

describe("limits", () => {
  test.each(bothProtocols)("a body of exactly the limit passes over %s, one byte more does not", async (http) => {
    await using fixture = await startIngress({ options: { requestBytesMax: 1000 } });
    await using client = openClient(http, fixture.port);
    const chunked = { ...octets, "transfer-encoding": "chunked" };
    for (const headers of [octets, chunked]) {
      expect((await client.send({ path: "/Greeter/bin", headers, body: "x".repeat(1000) })).status).toBe(200);
      expect((await client.send({ path: "/Greeter/bin", headers, body: "x".repeat(1001) })).status).toBe(413);
    }
  });

  test("a body that comes in very many pieces costs no more than its bytes", async () => {
    await using fixture = await startIngress();
    const pieces = "1\r\nx\r\n".repeat(50_000);
    const request = post(
      "/Greeter/bin",
      ["content-type: application/octet-stream", "transfer-encoding: chunked"],
      `${pieces}0\r\n\r\n`,
    );
    const { received } = await exchangeRaw(fixture.port, request, { done: (bytes) => bytes.includes('"ok"') });
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([200]);
    expect(fixture.partitions.invoked[0]!.input.length).toBeGreaterThan(50_000);
  });

  test.each(bothProtocols)("bodies beyond the common budget are refused with 429 over %s", async (http) => {
    await using fixture = await startIngress({ options: { bufferedBodyBytesMax: 1000 } });
    await using client = openClient(http, fixture.port);
    const answer = await client.send({ path: "/Greeter/bin", headers: octets, body: "x".repeat(1001) });
    expect(answer.status).toBe(429);
    expect((await client.send({ path: "/Greeter/bin", headers: octets, body: "x" })).status).toBe(200);
  });

  test.each(bothProtocols)(
    "requests beyond the concurrency limit get 429 over %s, health checks and preflights never",
    async (http) => {
      await using fixture = await startIngress({ script: () => "pending", options: { concurrentRequestsMax: 1 } });
      await using client = openClient(http, fixture.port);
      const first = client.send({ path: "/Greeter/greet" });
      await until(() => fixture.partitions.invoked.length === 1, "the first is submitted");
      const refused = await client.send({ path: "/Greeter/greet", headers: { origin: "http://app" } });
      expect(refused.status).toBe(429);
      expect(JSON.parse(refused.text)).toEqual({
        code: 429,
        message: "too many requests, the ingress is overloaded. Retry later.",
        source: "ingress",
      });
      expect(refused.headers["access-control-allow-origin"]).toBe("http://app");
      expect((await client.send(health)).status).toBe(200);
      expect((await client.send({ method: "OPTIONS", path: "/x" })).status).toBe(200);
      fixture.partitions.complete(fixture.partitions.invoked[0]!.id, success("x"));
      expect((await first).status).toBe(200);
      expect((await client.send({ path: "/Greeter/greet/send" })).status).toBe(202);
    },
  );

  test("requests beyond the rate get 429, health checks never", async () => {
    await using fixture = await startIngress({ options: { requestsPerSecondMax: 1 } });
    await using client = openClient("h2c", fixture.port);
    // However slowly they come here, most of many are beyond one a second.
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.send({ path: "/Greeter/greet/send" })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 429]));
    expect((await client.send(health)).status).toBe(200);
  });

  test.each(bothProtocols)("more header lines than the limit are refused with 431 over %s", async (http) => {
    await using fixture = await startIngress();
    await using client = openClient(http, fixture.port);
    const headers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "v"]));
    expect((await client.send({ path: "/Greeter/greet", headers: headers(90) })).status).toBe(200);
    const answer = await client.send({ path: "/Greeter/greet", headers: headers(110) });
    expect(answer).toMatchObject({ status: 431, text: '{"code":431,"message":"too many header fields","source":"ingress"}' });
  });

  test("a path of 64 KB and 250 KB of headers are accepted", async () => {
    await using fixture = await startIngress();
    const key = "k".repeat(64_000);
    const lines = Array.from({ length: 5 }, (_, n) => `x-${n}: ${"y".repeat(50_000)}`);
    const { received } = await exchangeRaw(fixture.port, post(`/Counter/${key}/add`, [...lines, "content-length: 0"]), {
      done: (bytes) => bytes.includes('"ok"'),
    });
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([200]);
    expect(fixture.partitions.invoked[0]?.facts.target.key).toBe(key);
  });

  test("longer headers are 431 with a reason in JSON, and the connection ends", async () => {
    await using fixture = await startIngress();
    const { received, closed } = await exchangeRaw(fixture.port, post("/Greeter/greet", [`x: ${"y".repeat(330_000)}`]));
    const message = "the request line and the headers are longer than 327680 bytes";
    const answers = parseAnswers(received).map(({ status, headers, body }) => [
      status,
      headers.get("content-type"),
      String(body),
    ]);
    expect(answers).toEqual([[431, "application/json", JSON.stringify({ code: 431, message, source: "ingress" })]]);
    expect(closed).toBe(true);
  });
});
