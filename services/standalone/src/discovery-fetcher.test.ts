import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { Secret, systemClock, systemRandom } from "@perdure/base";
import { createHttpTransport } from "@perdure/driver-http2";
import { createRequestIdentity } from "@perdure/invoker";
import { createDiscoveryFetcher } from "./discovery-fetcher.js";

const request = { method: "GET", path: "/discover", headers: { accept: "x" }, responseBytesMax: 1024, timeoutMs: 5000 } as const;

async function ask(basePath: string, signed: boolean): Promise<{ url: string; headers: IncomingHttpHeaders }> {
  const seen = Promise.withResolvers<{ url: string; headers: IncomingHttpHeaders }>();
  const endpoint = createServer((req, res) => {
    seen.resolve({ url: req.url ?? "", headers: req.headers });
    res.end("{}");
  });
  await new Promise<void>((resolve) => void endpoint.listen(0, "127.0.0.1", () => resolve()));
  await using http = createHttpTransport({ clock: systemClock, random: systemRandom });
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const identity = signed ? createRequestIdentity(new Secret(pem), systemClock) : undefined;
  const fetcher = createDiscoveryFetcher({ http, identity, clock: systemClock });
  const uri = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}${basePath}`;
  const answer = await fetcher.fetch(
    { ...request, target: { kind: "http", uri, httpVersion: "HTTP/1.1" } },
    new AbortController().signal,
  );
  expect(answer).toMatchObject({ kind: "response", status: 200 });
  endpoint.close();
  return seen.promise;
}

test("the question is signed for the path that the endpoint sees", async () => {
  const { url, headers } = await ask("/base/?tenant=a", true);
  expect(url).toBe("/base/discover?tenant=a");
  expect(headers["x-restate-signature-scheme"]).toBe("v1");
  const claims = JSON.parse(Buffer.from(String(headers["x-restate-jwt-v1"]).split(".")[1]!, "base64url").toString()) as {
    aud: string;
    sub?: string;
  };
  expect(claims.aud).toBe("/base/discover");
  expect(claims).not.toHaveProperty("sub");
});

test("without a key there is no signature", async () => {
  const { headers } = await ask("", false);
  expect(headers["accept"]).toBe("x");
  expect(Object.keys(headers).filter((name) => name.startsWith("x-restate-"))).toEqual([]);
});

test("a function on AWS Lambda is out of reach, and says so", async () => {
  await using http = createHttpTransport({ clock: systemClock, random: systemRandom });
  const fetcher = createDiscoveryFetcher({ http, identity: undefined, clock: systemClock });
  const target = { kind: "lambda", arn: "arn:aws:lambda:eu-central-1:1:function:f:1", assumeRoleArn: undefined } as const;
  const answer = await fetcher.fetch({ ...request, target }, new AbortController().signal);
  expect(answer).toEqual({ kind: "failed", failure: { kind: "client", message: "this server has no Lambda client" } });
});
