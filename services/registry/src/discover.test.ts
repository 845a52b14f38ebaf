import { afterEach, describe, expect, test } from "@jest/globals";
import { RegistryRefusal } from "@perdure/metadata";
import { longestPauses, VirtualClock } from "@perdure/testkit";
import { type Discovered, discover } from "./discover.js";
import type { DiscoveryAnswer, DiscoveryFetcher, DiscoveryRequest, DiscoveryTarget } from "./ports.js";
import {
  aManifest,
  aWireService,
  createNodeFetcher,
  type EndpointScript,
  startEndpoint,
  type TestEndpoint,
} from "./testing/index.js";

const clock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  setTimer: (_delayMs: number, fire: () => void) => timer(setImmediate(fire)),
};
const timer = (immediate: NodeJS.Immediate) => ({ cancel: () => clearImmediate(immediate) });
const open: TestEndpoint[] = [];

afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint[Symbol.asyncDispose]();
});

async function endpointThatSays(http: "h2c" | "http1", ...scripts: EndpointScript[]): Promise<TestEndpoint> {
  const endpoint = await startEndpoint(http, ...scripts);
  open.push(endpoint);
  return endpoint;
}

function discoverWith(
  target: string | DiscoveryTarget,
  { headers = {}, signal = new AbortController().signal, fetcher = createNodeFetcher() as DiscoveryFetcher } = {},
): Promise<Discovered> {
  const where: DiscoveryTarget = typeof target === "string" ? { kind: "http", uri: target, httpVersion: "auto" } : target;
  return discover({ fetcher, clock, requestHeaders: { "x-restate-cluster-name": "test" } }, where, headers, signal);
}

/** A fetcher that returns the given responses one by one, the last one repeatedly. */
function scripted(...answers: DiscoveryAnswer[]): DiscoveryFetcher & { readonly requests: DiscoveryRequest[] } {
  const requests: DiscoveryRequest[] = [];
  return {
    requests,
    async fetch(request) {
      requests.push(request);
      return answers[Math.min(requests.length, answers.length) - 1] as DiscoveryAnswer;
    },
  };
}

function said(manifest: object, change: Partial<DiscoveryAnswer & { kind: "response" }> = {}): DiscoveryAnswer {
  return {
    kind: "response",
    status: 200,
    headers: { "content-type": "application/vnd.restate.endpointmanifest.v4+json" },
    body: Buffer.from(JSON.stringify(manifest)),
    httpVersion: "HTTP/2.0",
    ...change,
  };
}

const failure = (kind: "connect" | "reset" | "protocol" | "http11Peer" | "client"): DiscoveryAnswer => ({
  kind: "failed",
  failure: { kind, message: `a ${kind} failure` },
});
const LAMBDA = { kind: "lambda", arn: "arn:aws:lambda:r:1:function:f:1", assumeRoleArn: undefined } as const;

test("the request names all manifest versions and carries our headers and the deployment's", async () => {
  const endpoint = await endpointThatSays("h2c", { body: aManifest([]), headers: { "x-restate-server": "sdk/1" } });
  const discovered = await discoverWith(`${endpoint.uri}/base/?q=1`, { headers: { authorization: "Bearer t" } });
  expect(endpoint.requests).toMatchObject([
    {
      path: "/base/discover?q=1",
      headers: {
        accept: [1, 2, 3, 4].map((version) => `application/vnd.restate.endpointmanifest.v${version}+json`).join(", "),
        "x-restate-cluster-name": "test",
        authorization: "Bearer t",
      },
    },
  ]);
  expect(discovered).toMatchObject({ sdkVersion: "sdk/1", address: { kind: "http", httpVersion: "HTTP/2.0" } });
});

test("the HTTP version that was spoken is kept", async () => {
  const endpoint = await endpointThatSays("http1", { body: aManifest([aWireService("S", ["h"])]) });
  const discovered = await discoverWith({ kind: "http", uri: `${endpoint.uri}/`, httpVersion: "HTTP/1.1" });
  expect(discovered.address).toEqual({ kind: "http", uri: `${endpoint.uri}/`, httpVersion: "HTTP/1.1" });
});

test("a function's address keeps role and compression", async () => {
  const target = { ...LAMBDA, assumeRoleArn: "arn:role" };
  const manifest = aManifest([], { protocolMode: "REQUEST_RESPONSE", lambdaCompression: "zstd" });
  const discovered = await discoverWith(target, { fetcher: scripted(said(manifest, { httpVersion: undefined })) });
  expect(discovered.address).toEqual({ kind: "lambda", arn: LAMBDA.arn, assumeRoleArn: "arn:role", compression: "zstd" });
});

describe("retries", () => {
  test.each([408, 429, 500, 502, 503, 504])("status %i is retried", async (status) => {
    const fetcher = scripted(said({}, { status }), said(aManifest([])));
    await discoverWith("http://x/", { fetcher });
    expect(fetcher.requests).toHaveLength(2);
  });

  test.each([400, 401, 404, 415])("status %i is final", async (status) => {
    const fetcher = scripted(said({}, { status }));
    await expect(discoverWith("http://x/", { fetcher })).rejects.toMatchObject({ code: "META0003" });
    expect(fetcher.requests).toHaveLength(1);
  });

  test("an endpoint that never comes up fails after five attempts", async () => {
    const fetcher = scripted(failure("connect"));
    await expect(discoverWith("http://x/", { fetcher })).rejects.toMatchObject({ status: 500, code: "META0003" });
    expect(fetcher.requests).toHaveLength(5);
  });

  test("an endpoint that sends a byte at a time fails after 45 seconds in all", async () => {
    const virtual = new VirtualClock();
    const timeouts: number[] = [];
    const fetcher: DiscoveryFetcher = {
      async fetch({ timeoutMs }) {
        timeouts.push(timeoutMs);
        virtual.advanceBy(timeoutMs);
        return { kind: "failed", failure: { kind: "reset", message: `no answer within ${timeoutMs} ms` } };
      },
    };
    const target: DiscoveryTarget = { kind: "http", uri: "http://x/", httpVersion: "auto" };
    const done = discover({ fetcher, clock: virtual, requestHeaders: {} }, target, {}, new AbortController().signal);
    const refused = expect(done).rejects.toMatchObject({ code: "META0003" });
    while (timeouts.length < 2) {
      virtual.advanceBy(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await refused;
    expect(timeouts[0]).toBe(30_000);
    expect(virtual.monotonicMs()).toBeLessThanOrEqual(46_000);
  });

  test("pauses are bounded by 200 ms, then by twice as much", async () => {
    const virtual = new VirtualClock();
    const fetcher = scripted(failure("reset"), failure("connect"), said(aManifest([])));
    const done = discover(
      { fetcher, clock: virtual, random: longestPauses, requestHeaders: {} },
      { kind: "http", uri: "http://x/", httpVersion: "auto" },
      {},
      new AbortController().signal,
    );
    const flush = () => new Promise((resolve) => setImmediate(resolve));
    await flush();
    virtual.advanceBy(199);
    await flush();
    expect(fetcher.requests).toHaveLength(1);
    virtual.advanceBy(1);
    await flush();
    expect(fetcher.requests).toHaveLength(2);
    virtual.advanceBy(399);
    await flush();
    expect(fetcher.requests).toHaveLength(2);
    virtual.advanceBy(1);
    await done;
    expect(fetcher.requests).toHaveLength(3);
  });

  test("a caller that disconnects ends it", async () => {
    const hangUp = new AbortController();
    const fetcher: DiscoveryFetcher & { count: number } = {
      count: 0,
      async fetch() {
        this.count++;
        hangUp.abort();
        return failure("connect");
      },
    };
    await expect(discoverWith("http://x/", { fetcher, signal: hangUp.signal })).rejects.toBeInstanceOf(RegistryRefusal);
    expect(fetcher.count).toBe(1);
  });
});

describe("every kind of unusable response has its code", () => {
  const codeOf = async (promise: Promise<unknown>) => {
    const refusal = await promise.then(
      () => undefined,
      (cause: unknown) => cause as RegistryRefusal,
    );
    return [refusal?.status, refusal?.code];
  };

  test("META0003: an unreachable endpoint, or a bad status, which is quoted", async () => {
    const endpoint = await endpointThatSays("h2c", { status: 404, body: "nothing", headers: { "x-hint": "wrong endpoint" } });
    const quoted = await discoverWith(endpoint.uri).catch((cause: Error) => cause.message);
    expect(quoted).toMatch(
      /^\[META0003\] got status code '404 Not Found'\. Make sure .*"x-hint":"wrong endpoint".* Body: nothing$/,
    );
    const address = endpoint.uri;
    await endpoint[Symbol.asyncDispose]();
    expect(await codeOf(discoverWith(address))).toEqual([500, "META0003"]);
    expect(await codeOf(discoverWith("http://x/", { fetcher: scripted(failure("client")) }))).toEqual([500, "META0003"]);
  });

  test("META0012: no common protocol version", async () => {
    for (const change of [
      { minProtocolVersion: 8, maxProtocolVersion: 9 },
      { minProtocolVersion: 1, maxProtocolVersion: 4 },
    ]) {
      const endpoint = await endpointThatSays("h2c", { body: aManifest([], change) });
      expect(await codeOf(discoverWith(endpoint.uri))).toEqual([500, "META0012"]);
    }
    const mistaken = await endpointThatSays("h2c", {
      body: aManifest([], { minProtocolVersion: 1 }),
      headers: { "x-restate-server": "restate-sdk-typescript/1.2.0" },
    });
    expect(await codeOf(discoverWith(mistaken.uri))).toEqual([500, "META0012"]);
  });

  test("META0013: not a manifest", async () => {
    const endpoint = await endpointThatSays("h2c", { contentType: "text/html", body: "<html>" });
    expect(await codeOf(discoverWith(endpoint.uri))).toEqual([500, "META0013"]);
  });

  test("META0014: an HTTP/1.1 server requested over HTTP/2", async () => {
    const endpoint = await endpointThatSays("http1", { body: aManifest([]) });
    expect(await codeOf(discoverWith(endpoint.uri))).toEqual([500, "META0014"]);
  });

  test("META0015: bidirectional mode where the transport has none", async () => {
    expect(await codeOf(discoverWith(LAMBDA, { fetcher: scripted(said(aManifest([]), { httpVersion: undefined })) }))).toEqual([
      500,
      "META0015",
    ]);
    expect(
      await codeOf(discoverWith("http://x/", { fetcher: scripted(said(aManifest([]), { httpVersion: "HTTP/1.0" })) })),
    ).toEqual([500, "META0015"]);
  });

  test("META0005: a reserved service name", async () => {
    const endpoint = await endpointThatSays("h2c", { body: aManifest([aWireService("restateThing", ["h"])]) });
    expect(await codeOf(discoverWith(endpoint.uri))).toEqual([400, "META0005"]);
  });
});
