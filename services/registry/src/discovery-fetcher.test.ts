import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { Secret, systemClock, systemRandom, utf8 } from "@perdure/base";
import {
  createRequestIdentity,
  type EndpointTransport,
  type RequestIdentity,
  type StreamRequest,
} from "@perdure/endpoint-transport";
import { createHttpTransport } from "@perdure/http-client";
import { createDiscoveryFetcher } from "./discovery-fetcher.js";
import type { DiscoveryAnswer } from "./ports.js";

const request = { method: "GET", path: "/discover", headers: { accept: "x" }, responseBytesMax: 1024, timeoutMs: 5000 } as const;

const unused: EndpointTransport = {
  open() {
    throw new Error("the other transport was called");
  },
  async [Symbol.asyncDispose]() {},
};

function anIdentity(): RequestIdentity {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return createRequestIdentity(new Secret(pem), systemClock);
}

function audienceOf(token: unknown): string {
  return (JSON.parse(Buffer.from(String(token).split(".")[1]!, "base64url").toString()) as { aud: string }).aud;
}

interface ReceivedRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly answer: DiscoveryAnswer;
}

/** Requests an HTTP/1.1 endpoint whose response has this many bytes. */
async function fetchBytes(bytes: number, basePath = "", identity?: RequestIdentity): Promise<ReceivedRequest> {
  let received: Pick<ReceivedRequest, "url" | "headers"> = { url: "", headers: {} };
  const endpoint = createServer((req, res) => {
    received = { url: req.url ?? "", headers: req.headers };
    res.end("x".repeat(bytes));
  });
  await new Promise<void>((resolve) => void endpoint.listen(0, "127.0.0.1", () => resolve()));
  await using http = createHttpTransport({ clock: systemClock, random: systemRandom });
  const fetcher = createDiscoveryFetcher({ transports: { http, lambda: unused }, identity, clock: systemClock });
  const uri = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}${basePath}`;
  const target = { kind: "http", uri, httpVersion: "HTTP/1.1" } as const;
  const answer = await fetcher.fetch({ ...request, target }, new AbortController().signal);
  endpoint.close();
  return { ...received, answer };
}

test("the question is signed for the service's own path, wherever it is mounted", async () => {
  const { url, headers, answer } = await fetchBytes(2, "/base/?tenant=a", anIdentity());
  expect(answer).toMatchObject({ kind: "response", status: 200, httpVersion: "HTTP/1.1" });
  expect(url).toBe("/base/discover?tenant=a");
  expect(headers["x-restate-signature-scheme"]).toBe("v1");
  expect(audienceOf(headers["x-restate-jwt-v1"])).toBe("/discover");
});

test("without a key there is no signature", async () => {
  const { headers } = await fetchBytes(2);
  expect(headers["accept"]).toBe("x");
  expect(Object.keys(headers).filter((name) => name.startsWith("x-restate-"))).toEqual([]);
});

test("a function on AWS Lambda is requested through its own transport, signed for the path alone", async () => {
  const requests: StreamRequest[] = [];
  const lambda: EndpointTransport = {
    open(opened, listener) {
      requests.push(opened);
      queueMicrotask(() => {
        listener.response(200, { "content-type": "application/json" });
        listener.data(utf8("{}"));
        listener.end();
      });
      return { write: () => true, end() {}, abort() {}, pauseReading() {}, resumeReading() {} };
    },
    async [Symbol.asyncDispose]() {},
  };
  const fetcher = createDiscoveryFetcher({ transports: { http: unused, lambda }, identity: anIdentity(), clock: systemClock });
  const target = { kind: "lambda", arn: "arn:aws:lambda:eu-central-1:1:function:f:1", assumeRoleArn: "arn:role" } as const;
  const answer = await fetcher.fetch({ ...request, target }, new AbortController().signal);
  expect(answer).toMatchObject({ kind: "response", status: 200, httpVersion: undefined, body: utf8("{}") });
  expect(requests).toMatchObject([
    { address: { kind: "lambda", arn: target.arn, assumeRoleArn: "arn:role", compression: undefined }, path: "/discover" },
  ]);
  expect(audienceOf(requests[0]!.headers["x-restate-jwt-v1"])).toBe("/discover");
});

test("a response that is too long is a failure, not memory", async () => {
  const { answer } = await fetchBytes(2048);
  expect(answer).toMatchObject({ kind: "failed", failure: { kind: "protocol" } });
});
