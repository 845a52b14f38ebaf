import { expect, test } from "@jest/globals";
import type { RequestGuard } from "@perdure/http-server";
import { browserGuard, guardsInTurn } from "./browser-guard.js";

const guard = browserGuard({ advertisedAddress: "https://Perdure.corp.example/", allowedHosts: ["box", "localhost:5173"] });

function codeOf(method: string, headers: Record<string, string>): string | null {
  const refusal = guard.refusal(method, "/deployments", headers);
  if (refusal === undefined) return null;
  expect(refusal.status).toBe(403);
  return (JSON.parse(refusal.body) as { restate_code: string }).restate_code;
}

const LOCAL = { host: "localhost:9070" };

test.each([
  ["curl", { host: "anything.example", "user-agent": "curl/8" }],
  [
    "fetch of Node",
    { host: "runtime.namespace.svc:9070", "sec-fetch-mode": "cors", "accept-language": "*", "user-agent": "node" },
  ],
  ["HTTP/1.0", {}],
])("requests of programs are not checked: %s", (_name, headers) => {
  for (const method of ["GET", "POST", "DELETE"]) expect(codeOf(method, headers)).toBeNull();
});

test.each([
  ["the console itself", { ...LOCAL, origin: "http://localhost:9070", "sec-fetch-site": "same-origin" }],
  ["an address", { host: "127.0.0.1:9070", origin: "http://127.0.0.1:9070" }],
  ["an address of version 6", { host: "[::1]:9070", origin: "http://[::1]:9070" }],
  ["behind a proxy that ends TLS", { host: "perdure.corp.example", origin: "https://perdure.corp.example" }],
  ["behind a proxy that forwards the port", { host: "perdure.corp.example:443", origin: "https://perdure.corp.example" }],
  [
    "behind one that names us otherwise",
    { host: "10.0.0.7:9070", origin: "https://perdure.corp.example", "sec-fetch-site": "same-origin" },
  ],
  ["an allowed origin", { ...LOCAL, origin: "http://localhost:5173", "sec-fetch-site": "same-site" }],
  ["a name below localhost", { host: "perdure.localhost:9070", origin: "http://perdure.localhost:9070" }],
  ["a bookmark", { ...LOCAL, "sec-fetch-site": "none", "accept-language": "de" }],
])("changes may come from %s", (_name, headers) => {
  for (const method of ["GET", "POST", "PATCH", "DELETE"]) expect(codeOf(method, headers)).toBeNull();
});

test.each([
  ["another site", { ...LOCAL, origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
  ["another site, in an older browser", { ...LOCAL, origin: "https://evil.example" }],
  ["another port of this machine", { ...LOCAL, origin: "http://localhost:3000", "sec-fetch-site": "same-site" }],
  ["another scheme", { ...LOCAL, origin: "https://localhost:3000" }],
  ["an opaque origin", { ...LOCAL, origin: "null" }],
  ["something that is not an origin", { ...LOCAL, origin: "nonsense" }],
  ["no origin, but another site", { ...LOCAL, "sec-fetch-site": "cross-site" }],
  ["no origin, but another port", { ...LOCAL, "sec-fetch-site": "same-site" }],
  ["its own origin, brought here by another site", { ...LOCAL, origin: "http://localhost:9070", "sec-fetch-site": "cross-site" }],
])("changes may not come from %s, and reads may", (_name, headers) => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"]) expect(codeOf(method, headers)).toBe("OPS0100");
  for (const method of ["GET", "HEAD", "OPTIONS"]) expect(codeOf(method, headers)).toBeNull();
});

test.each([
  ["a page", { origin: "http://evil.example:9070" }],
  ["a page with metadata", { "sec-fetch-site": "same-origin" }],
  ["a page at an address that is not secure", { "accept-language": "en" }],
  ["a page that hides its language", { "accept-language": "*", "user-agent": "curl/8" }],
])("browsers are refused at a host name that others may have pointed here: %s", (_name, headers) => {
  for (const host of ["evil.example:9070", "localhost.evil.example", "127.0.0.1.evil.example:9070", "", "[evil]"]) {
    for (const method of ["GET", "POST"]) expect(codeOf(method, { host, ...headers })).toBe("OPS0101");
  }
});

test("allowed names are accepted with a port, capitals and a trailing dot", () => {
  for (const host of ["LOCALHOST:1", "localhost.", "box:9070", "BOX", "Perdure.Corp.Example", "192.168.0.2"]) {
    expect(codeOf("GET", { host, "sec-fetch-site": "none" })).toBeNull();
  }
});

test("a refusal names the setting that helps, and repeats only a bounded part of the header", () => {
  const refusal = guard.refusal("GET", "/", { host: `${"a".repeat(5000)}.example`, "sec-fetch-site": "none" });
  expect(refusal?.body).toContain("admin.allowed-hosts");
  expect(refusal?.body.length).toBeLessThan(400);
});

test("of several guards the first refusal is the result, and paths that one of them hides are hidden", () => {
  const never: RequestGuard = { hidden: ["x-secret"], refusal: () => ({ status: 401, headers: {}, body: "{}" }) };
  const both = guardsInTurn([undefined, never, guard]);
  expect(both.hidden).toEqual(["x-secret"]);
  expect(both.refusal("POST", "/", { origin: "null" })?.status).toBe(401);
  expect(guardsInTurn([guard]).refusal("POST", "/", LOCAL)).toBeUndefined();
});
