/** Public answers, answers for read-only callers, and answers that command lines must be able to print (cloud.md §1.4, §1.5, §6.4). */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { type EnvironmentFacts, RUNTIME_SECRET_HEADER } from "@perdure/cloud";
import type { Http } from "./client.js";
import {
  bearer,
  CONSOLE,
  type GatewayFixture,
  generousLimits,
  startGateway,
  startRuntime,
  type TestRuntime,
  valuesOf,
} from "./fixture.js";

let runtime: TestRuntime;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
const VERSION = {
  version: "1.7.12",
  min_admin_api_version: 2,
  max_admin_api_version: 4,
  ingress_endpoint: "http://10.0.0.1:8080/",
};
beforeAll(async () => {
  runtime = await startRuntime();
  fixture = await startGateway();
  facts = fixture.environment(runtime);
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

/** A runtime that answers everything with this. */
const answering = (status: number, type: string, body: string) =>
  startRuntime((_req, res) => void res.writeHead(status, { "content-type": type }).end(body));

describe.each<Http>(["http/1.1", "h2"])("over %s", (http) => {
  test("/version is public, names the public address, and needs one request to the runtime for many clients", async () => {
    await using own = await answering(200, "application/json", JSON.stringify(VERSION));
    const place = fixture.environment(own);
    for (let i = 0; i < 3; i++) {
      const answer = await fixture.call(http, "admin", place, { path: "/version" });
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({ ...VERSION, ingress_endpoint: `${place.ingressUrl}/` });
    }
    expect(own.started).toBe(1);
    const suspended = fixture.environment(own, { status: "SUSPENDED" });
    expect((await fixture.call(http, "admin", suspended, { path: "/version" })).status).toBe(200);
  });

  test("health of the ingress only reports that it answers; with a key the whole answer is returned", async () => {
    await using own = await answering(200, "application/json", '{"services":["Secret"]}');
    const place = fixture.environment(own);
    expect((await fixture.call(http, "ingress", place, { path: "/restate/health" })).text).toBe("{}");
    const key = bearer(fixture.tenancy.addKey(place.id, "rst:role::FullAccess"));
    expect((await fixture.call(http, "ingress", place, { path: "/restate/health", headers: key })).text).toContain("Secret");
    expect((await fixture.call(http, "admin", place, { path: "/health" })).status).toBe(401);
  });

  test.each(["/version", "/restate/health"])("%s of a runtime that is away is a 503", async (path) => {
    const place = fixture.environment(undefined);
    const endpoint = path === "/version" ? "admin" : "ingress";
    expect((await fixture.call(http, endpoint, place, { path })).json).toMatchObject({ code: 503, restate_code: "PERD0503" });
  });

  test("T25: a read-only caller does not see secrets of deployments", async () => {
    const deployment = {
      id: "dp_1",
      additional_headers: { authorization: "Bearer secret", "x-key": "secret" },
      assume_role_arn: "arn:secret",
      nested: [{ additional_headers: { a: "secret" }, assume_role_arn: null }],
    };
    await using own = await answering(200, "application/json", JSON.stringify({ deployments: [deployment] }));
    const place = fixture.environment(own);
    const callAs = async (role: "perdure:role::AdminReadOnly" | "rst:role::AdminAccess") =>
      fixture.call(http, "admin", place, { path: "/v4/deployments", headers: bearer(fixture.tenancy.addKey(place.id, role)) });
    expect((await callAs("rst:role::AdminAccess")).json).toEqual({ deployments: [deployment] });
    expect((await callAs("perdure:role::AdminReadOnly")).json).toEqual({
      deployments: [
        {
          id: "dp_1",
          additional_headers: { authorization: "***", "x-key": "***" },
          assume_role_arn: "***",
          nested: [{ additional_headers: { a: "***" }, assume_role_arn: null }],
        },
      ],
    });
  });

  test("an answer that is masked is requested uncompressed, whatever the caller accepts", async () => {
    await using own = await startRuntime((req, res) => {
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify({ taken: req.headers["accept-encoding"] ?? "nothing" }));
    });
    const place = fixture.environment(own);
    const acceptedEncoding = async (role: "perdure:role::AdminReadOnly" | "rst:role::AdminAccess") => {
      const headers = [...bearer(fixture.tenancy.addKey(place.id, role)), "accept-encoding", "gzip, br"];
      return (await fixture.call(http, "admin", place, { path: "/v4/services", headers })).json["taken"];
    };
    expect([await acceptedEncoding("perdure:role::AdminReadOnly"), await acceptedEncoding("rst:role::AdminAccess")]).toEqual([
      "nothing",
      "gzip, br",
    ]);
  });

  test.each([404, 413, 500])("a runtime's %i in plain text becomes JSON at the management endpoint only", async (status) => {
    await using own = await answering(status, "text/plain", "length limit exceeded");
    const place = fixture.environment(own);
    const headers = bearer(fixture.tenancy.addKey(place.id, "rst:role::FullAccess"));
    const admin = await fixture.call(http, "admin", place, { path: "/x", headers });
    expect([admin.status, admin.json["code"], typeof admin.json["message"]]).toEqual([status, status, "string"]);
    expect((await fixture.call(http, "ingress", place, { path: "/x", headers })).text).toBe("length limit exceeded");
  });

  test("a runtime's own address does not leave, and its secret is sent with every request", async () => {
    await using own = await startRuntime((req, res) => {
      res.writeHead(201, { location: `http://${req.headers.host}/deployments/dp_1`, "set-cookie": ["a=1", "b=2"] }).end();
    });
    const received: string[][] = [];
    const place = fixture.tenancy.put({
      ...fixture.environment(own),
      upstream: { ingress: own.origin, admin: own.origin, secret: new Secret("between us") },
    });
    const { script } = own;
    own.script = (req, res) => {
      received.push(valuesOf(req.rawHeaders, RUNTIME_SECRET_HEADER));
      script?.(req, res);
    };
    const headers = [...bearer(fixture.tenancy.addKey(place.id, "rst:role::FullAccess")), RUNTIME_SECRET_HEADER, "a lie"];
    const answer = await fixture.call(http, "admin", place, { method: "POST", path: "/deployments", headers, body: "{}" });
    expect([answer.status, answer.headers["location"]]).toEqual([201, `${place.adminUrl}/deployments/dp_1`]);
    expect(answer.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(received).toEqual([["between us"]]);
  });
});

test("without a console `/ui` is a 404", async () => {
  await using own = await startGateway({ options: { consoleUrl: undefined } });
  const place = own.environment(runtime);
  expect((await own.call("http/1.1", "admin", place, { path: "/ui" })).status).toBe(404);
  expect((await fixture.call("http/1.1", "admin", facts, { path: "/ui" })).headers["location"]).toBe(CONSOLE);
});

test("T12: the log contains the caller and the operation, and no path, query, body or token", async () => {
  await using own = await startGateway();
  const place = own.environment(runtime, { limits: generousLimits });
  const key = own.tenancy.addKey(place.id, "rst:role::FullAccess");
  const path = "/Greeter/alice/greet/send?token=hidden";
  const answer = await own.call("h2", "ingress", place, { method: "POST", path, headers: bearer(key), body: "private" });
  const line = own.lines.find(({ message }) => message === "answered");
  expect(line?.fields).toMatchObject({
    environmentId: place.id,
    caller: key.split(".")[0],
    door: "ingress",
    method: "POST",
    route: "/{}/{}/{}/send",
    status: 200,
    bytesIn: 7,
    requestId: answer.headers["x-request-id"],
  });
  expect(JSON.stringify(own.lines)).not.toMatch(/alice|hidden|private/);
  expect(JSON.stringify(own.lines)).not.toContain(key.split(".")[1]);
});
