import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { describe, expect, test } from "@jest/globals";
import { fromUtf8, systemClock, systemRandom, utf8 } from "@perdure/base";
import { SeededRandom, until, VirtualClock } from "@perdure/testkit";
import { createHttpTransport, type FetchRequest, fetchOnce } from "../src/index.js";
import { handled } from "./http2-server.js";
import { openSockets } from "./open-sockets.js";
import { open } from "./recorder.js";
import { listen, type SdkEndpoint } from "./sdk-endpoint.js";
import { selfSigned } from "./self-signed.js";

const { key, cert } = selfSigned();

/** Answers with the protocol version and the body of the request. */
const answer = (request: import("node:http").IncomingMessage, response: import("node:http").ServerResponse) => {
  let body = "";
  request.on("data", (chunk: Uint8Array) => {
    body += fromUtf8(chunk);
  });
  request.on("end", () => {
    response.setHeader("x-path", request.url ?? "");
    response.end(`${request.httpVersion} ${body}`);
  });
};

async function fetchFrom(uri: string, request: Partial<FetchRequest> = {}, signal?: AbortSignal) {
  await using transport = createHttpTransport({ clock: systemClock, random: systemRandom }, { trustedCertificates: cert });
  const outcome = await fetchOnce(
    { transport, clock: systemClock, trustedCertificates: cert },
    {
      uri,
      httpVersion: "auto",
      method: "GET",
      path: "/discover",
      headers: { accept: "a/b" },
      responseBytesMax: 1_000,
      timeoutMs: 5_000,
      ...request,
    },
    signal === undefined ? {} : { signal },
  );
  if (outcome.kind === "failed") return `${outcome.failure.kind}: ${outcome.failure.message}`;
  return `${outcome.status} ${outcome.httpVersion} ${outcome.headers["x-path"]} ${fromUtf8(outcome.body)}`;
}

const secure = (endpoint: SdkEndpoint) => endpoint.uri.replace("http:", "https:");

describe("fetching once", () => {
  test("uses HTTP/2 for cleartext addresses by default", async () => {
    const leaks = openSockets();
    {
      await using http2 = await listen(createHttp2Server(answer as never));
      await using http1 = await listen(createHttp1Server(answer));
      expect(await fetchFrom(http2.uri)).toBe("200 HTTP/2.0 /discover 2.0 ");
      expect(await fetchFrom(`${http1.uri}/base/`, { httpVersion: "HTTP/1.1" })).toBe("200 HTTP/1.1 /base/discover 1.1 ");
      expect(await fetchFrom(http1.uri)).toMatch(/^http11Peer: /);
      expect(await fetchFrom(http2.uri, { method: "POST", body: utf8("question") })).toBe("200 HTTP/2.0 /discover 2.0 question");
    }
    await leaks.expectClosed();
  });

  test("lets TLS decide for https addresses", async () => {
    await using both = await listen(
      createSecureServer({ key, cert, allowHTTP1: true }, answer as never) as Http2SecureServer as never,
    );
    await using http1 = await listen(createHttpsServer({ key, cert }, answer));
    expect(await fetchFrom(secure(both))).toBe("200 HTTP/2.0 /discover 2.0 ");
    expect(await fetchFrom(secure(both), { httpVersion: "HTTP/1.1" })).toBe("200 HTTP/1.1 /discover 1.1 ");
    expect(await fetchFrom(secure(http1))).toBe("200 HTTP/1.1 /discover 1.1 ");
    expect(await fetchFrom(secure(http1), { httpVersion: "HTTP/2.0" })).toMatch(/^http11Peer: /);
  });

  test("does not trust a certificate of an unknown authority", async () => {
    await using server = await listen(createSecureServer({ key, cert }, answer as never) as never);
    await using transport = createHttpTransport({ clock: systemClock, random: systemRandom });
    const request = {
      uri: secure(server),
      httpVersion: "auto",
      method: "GET",
      path: "/discover",
      headers: {},
      responseBytesMax: 1,
      timeoutMs: 5_000,
    } as const;
    expect(await fetchOnce({ transport, clock: systemClock }, request)).toMatchObject({
      kind: "failed",
      failure: { kind: "connect" },
    });
    expect((await open(transport, secure(server)).recorder.closed()).failure).toMatchObject({
      kind: "connect",
      message: expect.stringMatching(/self-signed/),
    });
  });

  test("an address without a listener is a connect failure, with and without TLS", async () => {
    const gone = await listen(createHttp1Server(answer));
    await gone[Symbol.asyncDispose]();
    expect(await fetchFrom(gone.uri)).toMatch(/^connect: .*ECONNREFUSED/);
    expect(await fetchFrom(secure(gone))).toMatch(/^connect: .*ECONNREFUSED/);
    expect(await fetchFrom("gopher://x")).toMatch(/^client: /);
  });

  test("stops at the size cap", async () => {
    await using endless = await listen(
      createHttp2Server((_request, response) => {
        response.on("error", () => {});
        const more = (failed?: Error | null) => void (failed ?? response.write(Buffer.alloc(10_000), more));
        more();
      }),
    );
    expect(await fetchFrom(endless.uri)).toMatch(/^protocol: the response is longer than 1000 bytes/);
  });

  test("stops at the timeout, and reports whether there was an answer at all", async () => {
    let requests = 0;
    let begunAnswers = 0;
    await using silent = await listen(createHttp2Server(() => requests++));
    await using half = await listen(
      createHttp2Server(({ stream }, response) => {
        response.write("x", () => {
          if (stream.session !== undefined) void handled(stream.session).then(() => begunAnswers++);
        });
      }),
    );
    const clock = new VirtualClock();
    await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
    for (const [uri, kind, isThere] of [
      [silent.uri, "connect", () => requests === 1],
      [half.uri, "reset", () => begunAnswers === 1],
    ] as const) {
      const pending = fetchOnce(
        { transport, clock },
        { uri, httpVersion: "auto", method: "GET", path: "/discover", headers: {}, responseBytesMax: 100, timeoutMs: 3_000 },
      );
      await until(isThere);
      clock.advanceBy(3_000);
      expect(await pending).toMatchObject({ kind: "failed", failure: { kind } });
    }
  });

  test("can be cancelled, before and while it waits", async () => {
    await using silent = await listen(createHttp2Server(() => {}));
    expect(await fetchFrom(silent.uri, {}, AbortSignal.abort())).toMatch(/^client: .*cancelled/);
    expect(await fetchFrom(silent.uri, {}, AbortSignal.timeout(30))).toMatch(/^client: .*cancelled/);
  });
});
