import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createEgressGuard, parseAllowance, type ResolvedAddress } from "@perdure/egress";
import { guardedFetch } from "./guarded-fetch.js";
import { OIDC_ANSWER_BYTES_MAX } from "./limits.js";

let provider: Server;
let origin: string;
let requests: string[];
let answer: { status: number; body: string; location?: string };

beforeEach(async () => {
  requests = [];
  answer = { status: 200, body: "{}" };
  provider = createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += String(chunk);
    requests.push(`${req.method} ${req.url} ${body}`);
    res.writeHead(answer.status, {
      "content-type": "application/json",
      ...(answer.location === undefined ? {} : { location: answer.location }),
    });
    res.end(answer.body);
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
afterEach(async () => {
  provider.closeAllConnections();
  await new Promise<void>((resolve) => provider.close(() => resolve()));
});

/** The fetch of an issuer at this origin, with a name server of the test. */
function fetchFor(issuer: string, names: Readonly<Record<string, string>> = {}) {
  const place = parseAllowance(`${issuer}/`);
  if (place === undefined) throw new Error(`${issuer} is not a place`);
  const resolve = (name: string, done: (error: Error | null, addresses: readonly ResolvedAddress[]) => void): void =>
    done(null, [{ address: names[name] ?? "192.0.2.1", family: 4 }]);
  const denied: string[] = [];
  const onDenied = (destination: string, reason: string): void => void denied.push(`${destination}: ${reason}`);
  const guard = createEgressGuard(
    { allowPlainHttp: false, ownDomains: ["perdure.test"], ownRanges: [], allowances: [place] },
    { resolve, onDenied },
  );
  return { fetch: guardedFetch(guard), denied };
}

test("the issuer itself may be at any address, and receives the request unchanged", async () => {
  const { fetch } = fetchFor(origin);
  const form = await fetch(`${origin}/token`, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ code: "c d" }),
  });
  expect([form.status, await form.json()]).toEqual([200, {}]);
  expect((await fetch(`${origin}/keys`, { method: "GET", headers: {} })).headers.get("content-type")).toBe("application/json");
  expect(requests).toEqual(["POST /token code=c+d", "GET /keys "]);
});

test("other addresses in its documents must be public, both as written and as resolved", async () => {
  const { fetch, denied } = fetchFor("https://id.example", { "inside.example": "10.0.0.7" });
  const elsewhere = [
    origin,
    "http://169.254.169.254/latest",
    "https://localhost/keys",
    "https://api.us.perdure.test/keys",
    "file:///etc/passwd",
  ];
  for (const url of [...elsewhere, "https://inside.example/keys"]) {
    await expect(fetch(url, { method: "GET", headers: {} })).rejects.toThrow("destination not allowed");
  }
  expect(denied).toHaveLength(6);
  expect(requests).toEqual([]);
});

test("a redirection is returned as an answer, and an endless answer is not read", async () => {
  const { fetch } = fetchFor(origin);
  answer = { status: 302, body: "", location: "http://169.254.169.254/" };
  expect((await fetch(`${origin}/x`, { method: "GET", headers: {} })).status).toBe(302);
  answer = { status: 204, body: "" };
  expect((await fetch(`${origin}/x`, { method: "GET", headers: {} })).status).toBe(204);
  answer = { status: 200, body: "x".repeat(OIDC_ANSWER_BYTES_MAX + 1) };
  await expect(fetch(`${origin}/x`, { method: "GET", headers: {} })).rejects.toThrow(/more than/);
  expect(requests).toHaveLength(3);
});
