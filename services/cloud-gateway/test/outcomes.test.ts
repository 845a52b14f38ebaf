/** Which requests are let in: the table of cloud.md §6.2 for each endpoint, over HTTP/1.1 and HTTP/2. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { type AuthenticatedCaller, type EnvironmentFacts, newUserId } from "@perdure/cloud";
import { exampleEnvironment } from "@perdure/cloud/testing";
import { type Http, send } from "./client.js";
import {
  bearer,
  CONSOLE,
  type GatewayFixture,
  hostOf,
  startGateway,
  startRuntime,
  type TestRuntime,
  valuesOf,
} from "./fixture.js";

let runtime: TestRuntime;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
beforeAll(async () => {
  runtime = await startRuntime();
  fixture = await startGateway();
  facts = fixture.environment(runtime);
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

const token = (claims: object): string =>
  `eyJhbGciOiJFZERTQSJ9.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;

function member(role: Extract<AuthenticatedCaller, { kind: "member" }>["role"]): string {
  const credential = token({ iss: "https://api.us.perdure.test", sub: role });
  const expiresAtMs = Date.now() + 60_000;
  fixture.tenancy.addCaller(credential, [facts.id], {
    kind: "member",
    id: newUserId(Date.now(), systemRandom),
    role,
    expiresAtMs,
  });
  return credential;
}

describe.each<Http>(["http/1.1", "h2"])("over %s", (http) => {
  test("a key with full access passes at both endpoints, and the runtime receives everything but the secret", async () => {
    const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    for (const endpoint of ["ingress", "admin"] as const) {
      const answer = await fixture.call(http, endpoint, facts, {
        method: "POST",
        path: "/Greeter/greet?x=1",
        headers: [...bearer(key), "content-type", "application/json", "idempotency-key", "i1"],
        body: '"Ann"',
      });
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ method: "POST", url: "/Greeter/greet?x=1", body: '"Ann"' });
      const received = runtime.requests.at(-1)!;
      expect(valuesOf(received.rawHeaders, "authorization")).toEqual([]);
      expect(valuesOf(received.rawHeaders, "idempotency-key")).toEqual(["i1"]);
      expect(valuesOf(received.rawHeaders, "x-forwarded-for")).toEqual(["127.0.0.1"]);
      expect(valuesOf(received.rawHeaders, "x-forwarded-host")).toEqual([hostOf(facts)]);
      expect(valuesOf(received.rawHeaders, "x-forwarded-proto")).toEqual(["http"]);
      expect(valuesOf(received.rawHeaders, "x-request-id")).toEqual([answer.headers["x-request-id"]]);
      expect(answer.headers["x-restate-id"]).toBe("inv_1");
      expect(answer.headers["server"]).toBeUndefined();
      // Callers can undo a change; other headers of the platform are internal.
      expect(answer.headers["x-perdure-operation"]).toBe("op_1");
      expect(answer.headers["x-perdure-node"]).toBeUndefined();
    }
  });

  test("no credential: 401 with a challenge, and a body that command lines can print", async () => {
    const answer = await fixture.call(http, "admin", facts, { path: "/deployments" });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toBe('Bearer realm="perdure"');
    expect(answer.json).toEqual({
      code: 401,
      message: expect.stringContaining("API key"),
      restate_code: "PERD0401",
      request_id: answer.headers["x-request-id"],
    });
  });

  test.each([
    ["an unknown key", "key_0123456789abcdefghijklm.0123456789abcdefghijklmnopqrstuvwxyz01234567"],
    ["a token of another issuer", token({ iss: "https://elsewhere.test" })],
    ["a forged token of this issuer", token({ iss: "https://api.us.perdure.test", sub: "nobody" })],
  ])("%s: 401, and the text never shows up in the log", async (_name, credential) => {
    await using own = await startGateway();
    const place = own.environment(runtime);
    const answer = await own.call(http, "ingress", place, { path: "/S/h", headers: bearer(credential) });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(answer.headers["x-restate-error-source"]).toBe("gateway");
    expect(answer.json["restate_code"]).toBe("PERD0401");
    expect(JSON.stringify(own.lines)).not.toContain(credential.slice(0, 30));
  });

  test("T1: a key of another environment: 403, and no runtime receives it", async () => {
    const other = fixture.environment(runtime);
    const key = fixture.tenancy.addKey(other.id, "rst:role::FullAccess");
    const before = runtime.started;
    const answer = await fixture.call(http, "ingress", facts, { path: "/S/h", headers: bearer(key) });
    expect([answer.status, answer.json["restate_code"]]).toEqual([403, "PERD0403"]);
    expect(runtime.started).toBe(before);
  });

  test.each([
    ["rst:role::IngressAccess", 200, 403],
    ["rst:role::AdminAccess", 403, 200],
    ["rst:role::ResolveAwakeableAccess", 403, 403],
    ["perdure:role::AdminReadOnly", 403, 200],
  ] as const)("%s: ingress %i, management %i", async (role, ingress, admin) => {
    const headers = bearer(fixture.tenancy.addKey(facts.id, role));
    expect((await fixture.call(http, "ingress", facts, { path: "/S/h", headers })).status).toBe(ingress);
    expect((await fixture.call(http, "admin", facts, { path: "/services", headers })).status).toBe(admin);
  });

  test("a key for awakeables resolves and rejects them, nothing else", async () => {
    const headers = bearer(fixture.tenancy.addKey(facts.id, "rst:role::ResolveAwakeableAccess"));
    const status = async (method: string, path: string) =>
      (await fixture.call(http, "ingress", facts, { method, path, headers })).status;
    expect(await status("POST", "/restate/awakeables/sign_1a/resolve")).toBe(200);
    expect(await status("POST", "/restate/a/sign_1a/reject")).toBe(200);
    expect(await status("POST", "/restate/awakeables/sign_1a%2f..%2fx/resolve")).toBe(403);
    expect(await status("POST", "/restate/awakeables/../../Greeter/greet/resolve")).toBe(403);
    expect(await status("GET", "/restate/awakeables/sign_1a/resolve")).toBe(403);
  });

  test("members pass by their role", async () => {
    const developer = bearer(member("developer"));
    const viewer = bearer(member("viewer"));
    expect((await fixture.call(http, "ingress", facts, { path: "/S/h", headers: developer })).status).toBe(200);
    expect((await fixture.call(http, "admin", facts, { path: "/services", headers: developer })).status).toBe(200);
    expect((await fixture.call(http, "admin", facts, { path: "/services", headers: viewer })).status).toBe(200);
    expect(
      (await fixture.call(http, "admin", facts, { method: "DELETE", path: "/deployments/dp_1", headers: viewer })).status,
    ).toBe(403);
    expect((await fixture.call(http, "ingress", facts, { path: "/S/h", headers: viewer })).status).toBe(403);
  });

  test("T13: two credentials in one request: the foreign one neither grants access nor reaches the handler", async () => {
    const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    const revoked = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    fixture.tenancy.revoke(revoked);
    const foreign = ["authorization", "Bearer opaque"];
    const call = (headers: readonly string[]) => fixture.call(http, "ingress", facts, { path: "/S/h", headers });
    for (const headers of [
      [...foreign, ...bearer(key)],
      [...bearer(key), ...foreign],
      [...bearer(revoked), ...bearer(key)],
    ]) {
      expect((await call(headers)).status).toBe(200);
      expect(valuesOf(runtime.requests.at(-1)!.rawHeaders, "authorization")).toEqual([]);
    }
    expect((await call([...bearer(revoked), ...foreign])).status).toBe(401);
    expect((await call([...foreign, ...bearer(revoked)])).status).toBe(401);
    expect((await call([...bearer(key), ...bearer(revoked)])).status).toBe(401);
  });

  test("an environment that enables it receives the foreign credential, and only that", async () => {
    const place = fixture.environment(runtime, { forwardsForeignAuthorization: true });
    const key = fixture.tenancy.addKey(place.id, "rst:role::IngressAccess");
    await fixture.call(http, "ingress", place, { path: "/S/h", headers: ["authorization", "Basic dTpw", ...bearer(key)] });
    expect(valuesOf(runtime.requests.at(-1)!.rawHeaders, "authorization")).toEqual(["Basic dTpw"]);
  });

  test("T32: headers that callers may not set are not forwarded", async () => {
    const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    const lies = [
      ...["x-forwarded-for", "10.0.0.1", "x-forwarded-proto", "https", "x-forwarded-port", "1", "forwarded", "for=10.0.0.1"],
      ...[
        "x-real-ip",
        "10.0.0.1",
        "x-restate-jwt-v1",
        "lie",
        "x-restate-signature-scheme",
        "v1",
        "x-restate-cluster-name",
        "lie",
      ],
      ...[
        "x-restate-ingress-path",
        "/lie",
        "x-perdure-runtime-secret",
        "lie",
        "x-request-id",
        "lie",
        "proxy-authorization",
        "Basic eA==",
      ],
    ];
    const kept = [
      "x-perdure-priority",
      "3",
      "traceparent",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "cookie",
      "a=b",
    ];
    await fixture.call(http, "ingress", facts, { path: "/S/h", headers: [...bearer(key), ...lies, ...kept] });
    const { rawHeaders } = runtime.requests.at(-1)!;
    expect(rawHeaders.join("\n")).not.toContain("lie");
    expect(valuesOf(rawHeaders, "x-forwarded-for")).toEqual(["127.0.0.1"]);
    for (const name of ["forwarded", "x-real-ip", "x-forwarded-port", "proxy-authorization", "x-restate-signature-scheme"]) {
      expect(valuesOf(rawHeaders, name)).toEqual([]);
    }
    expect(valuesOf(rawHeaders, "x-perdure-priority")).toEqual(["3"]);
    expect(valuesOf(rawHeaders, "cookie")).toEqual(["a=b"]);
    expect(valuesOf(rawHeaders, "traceparent")).toEqual(["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]);
  });

  test("T12: a session cookie of the console, which browsers send to all ports of its host, is not forwarded", async () => {
    const headers = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
    const cookie = ["cookie", "perdure_session=secret; a=b; __Host-perdure_session=secret"];
    await fixture.call(http, "ingress", facts, { path: "/S/h", headers: [...headers, ...cookie] });
    expect(valuesOf(runtime.requests.at(-1)!.rawHeaders, "cookie")).toEqual(["a=b"]);
    await fixture.call(http, "ingress", facts, { path: "/S/h", headers: [...headers, "cookie", "perdure_session=secret"] });
    expect(runtime.requests.at(-1)!.rawHeaders.join("\n")).not.toContain("secret");
  });

  test("headers that browsers add reach handlers, and not the management of a runtime", async () => {
    const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    const said = {
      origin: CONSOLE,
      referer: `${CONSOLE}/accounts`,
      cookie: "a=b",
      "accept-language": "de",
      "sec-fetch-site": "same-site",
      "sec-ch-ua": '"X"',
    };
    const headers = [...bearer(key), ...Object.entries(said).flat(), "accept", "application/json"];
    await fixture.call(http, "admin", facts, { path: "/services", headers });
    const managed = runtime.requests.at(-1)!.rawHeaders;
    for (const name of Object.keys(said)) expect([name, valuesOf(managed, name)]).toEqual([name, []]);
    expect(valuesOf(managed, "accept")).toEqual(["application/json"]);
    await fixture.call(http, "ingress", facts, { path: "/S/h", headers });
    const called = runtime.requests.at(-1)!.rawHeaders;
    for (const [name, value] of Object.entries(said)) expect([name, valuesOf(called, name)]).toEqual([name, [value]]);
  });

  test.each([
    ["PENDING", 503, "PERD0101", "5"],
    ["FAILED", 503, "PERD0102", undefined],
    ["DELETING", 404, "PERD0404", undefined],
  ] as const)("an environment that is %s answers %i", async (status, http_, code, retryAfter) => {
    const place = fixture.environment(runtime, { status });
    const answer = await fixture.call(http, "admin", place, { path: "/services" });
    expect([answer.status, answer.json["restate_code"], answer.headers["retry-after"]]).toEqual([http_, code, retryAfter]);
  });

  test("a suspended environment: no calls, reads but no writes", async () => {
    const place = fixture.environment(runtime, { status: "SUSPENDED" });
    const headers = bearer(fixture.tenancy.addKey(place.id, "rst:role::FullAccess"));
    const call = await fixture.call(http, "ingress", place, { path: "/S/h", headers });
    expect([call.status, call.json["restate_code"]]).toEqual([403, "PERD0110"]);
    expect((await fixture.call(http, "admin", place, { path: "/services", headers })).status).toBe(200);
    const write = await fixture.call(http, "admin", place, { method: "POST", path: "/deployments", headers, body: "{}" });
    expect([write.status, write.json["restate_code"]]).toEqual([403, "PERD0110"]);
  });

  test("unknown hosts, and hosts of another region", async () => {
    const host = (name: string) => send(http, fixture.ports.ingress, { host: name, headers: bearer("key_x") });
    const unknownEnvironment = exampleEnvironment();
    expect((await host(hostOf(unknownEnvironment))).json).toMatchObject({
      code: 404,
      message: "Unknown environment",
      restate_code: "PERD0404",
    });
    expect((await host("example.org")).status).toBe(404);
    expect((await host("127.0.0.1")).status).toBe(404);
    expect((await host(hostOf(facts).toUpperCase())).status).toBe(401);
    expect((await host(`${hostOf(facts)}:8080`)).status).toBe(401);
    const elsewhere = await host(hostOf(facts).replace(".us.", ".eu."));
    expect([elsewhere.status, elsewhere.json["restate_code"]]).toEqual([421, "PERD0421"]);
    expect(elsewhere.json["message"]).toContain(`${hostOf(facts)}:8080`);
  });

  test("a runtime that does not answer: 503 with Retry-After", async () => {
    const gone = await startRuntime();
    await gone[Symbol.asyncDispose]();
    const place = fixture.environment(gone);
    const headers = bearer(fixture.tenancy.addKey(place.id, "rst:role::FullAccess"));
    const answer = await fixture.call(http, "ingress", place, { method: "POST", path: "/S/h", headers, body: "1" });
    expect([answer.status, answer.json["restate_code"], answer.headers["retry-after"]]).toEqual([503, "PERD0503", "1"]);
    const none = fixture.environment(undefined);
    const key = bearer(fixture.tenancy.addKey(none.id, "rst:role::FullAccess"));
    expect((await fixture.call(http, "ingress", none, { path: "/S/h", headers: key })).status).toBe(503);
  });

  test("preflights need no credential; management allows its console only", async () => {
    const call = (endpoint: "ingress" | "admin", origin: string, place = facts) =>
      fixture.call(http, endpoint, place, {
        method: "OPTIONS",
        path: "/S/h",
        headers: ["origin", origin, "access-control-request-method", "POST", "access-control-request-headers", "authorization"],
      });
    const any = await call("ingress", "https://page.test");
    expect([any.status, any.headers["access-control-allow-origin"]]).toEqual([204, "*"]);
    expect(any.headers["access-control-allow-credentials"]).toBeUndefined();
    expect(any.headers["access-control-allow-headers"]).toBe("authorization");
    const listing = fixture.environment(runtime, { corsOrigins: ["https://page.test"] });
    const listed = await call("ingress", "https://page.test", listing);
    expect(listed.headers["access-control-allow-origin"]).toBe("https://page.test");
    expect((await call("ingress", "https://other.test", listing)).headers["access-control-allow-origin"]).toBeUndefined();
    const console = await call("admin", CONSOLE);
    expect([console.status, console.headers["access-control-allow-origin"]]).toEqual([204, CONSOLE]);
    const page = await call("admin", "https://page.test");
    expect([page.status, page.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  });

  test("CORS headers of runtimes are replaced by the gateway's on every answer", async () => {
    runtime.script = (_req, res) => {
      res
        .writeHead(200, { "access-control-allow-origin": "https://page.test", "access-control-allow-credentials": "true" })
        .end();
    };
    const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    const answer = await fixture.call(http, "ingress", facts, {
      path: "/S/h",
      headers: [...bearer(key), "origin", "https://page.test"],
    });
    runtime.script = undefined;
    expect(answer.headers["access-control-allow-origin"]).toBe("*");
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
    const refused = await fixture.call(http, "ingress", facts, { path: "/S/h", headers: ["origin", "https://page.test"] });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([401, "*"]);
  });

  test("`/ui` redirects to the console, internal paths are refused", async () => {
    const headers = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
    const ui = await fixture.call(http, "admin", facts, { path: "/ui/x" });
    expect([ui.status, ui.headers["location"]]).toEqual([307, CONSOLE]);
    for (const path of ["/internal/usage", "//internal/usage", "/INTERNAL/usage", "/%69nternal/usage"]) {
      const answer = await fixture.call(http, "admin", facts, { path, headers });
      expect([path, answer.status, answer.json["restate_code"]]).toEqual([path, 404, "PERD0404"]);
    }
  });
});
