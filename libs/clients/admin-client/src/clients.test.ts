import { describe, expect, test } from "@jest/globals";
import { Secret, utf8 } from "@perdure/base";
import { AdminClient } from "./admin-client.js";
import { AdminApiError } from "./api-error.js";
import { findingsOf } from "./deployments.js";
import { handlerPath, IngressClient, InvocationFailure } from "./ingress-client.js";
import type { ApiTransport, TransportRequest } from "./transport.js";

interface Canned {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function scene(...answers: readonly (Canned | Error)[]) {
  const requests: TransportRequest[] = [];
  const left = [...answers];
  const transport: ApiTransport = async (request) => {
    requests.push(request);
    const answer = left.shift() ?? new Error("no server is there");
    if (answer instanceof Error) throw answer;
    return { status: answer.status, header: (name) => answer.headers?.[name], body: utf8(answer.body ?? "") };
  };
  const options = { transport, userAgent: "test", token: () => new Secret("key_1.x") };
  return {
    requests,
    admin: new AdminClient({ ...options, baseUrl: "http://localhost:9070/base/" }),
    ingress: new IngressClient({ ...options, baseUrl: "http://localhost:8080" }),
  };
}

describe("the management client", () => {
  test("keeps the digits of integers beyond the range of numbers, when requested", async () => {
    const { admin } = scene({ status: 200, body: '{"rows":[{"a":4794524801028141395,"b":7,"c":1e300}]}' });
    expect(await admin.sql.exact("SELECT 1")).toEqual([{ a: 4794524801028141395n, b: 7, c: 1e300 }]);
  });

  test("requests version 4 of the API below its base, with credentials", async () => {
    const { admin, requests } = scene({ status: 200, body: '{"rows":[{"a":1}]}' });
    expect(await admin.sql.query("SELECT 1 AS a")).toEqual([{ a: 1 }]);
    const [request] = requests;
    expect(request?.url.href).toBe("http://localhost:9070/base/v4/query");
    expect(request?.headers).toMatchObject({ authorization: "Bearer key_1.x", accept: "application/json", "user-agent": "test" });
    expect(request?.isRepeatable).toBe(true);
  });

  test("refusals have code, advice and request id, and the code once", async () => {
    const body = JSON.stringify({ message: "[META0004] known", restate_code: "META0004", request_id: "req_1" });
    const { admin } = scene({ status: 409, body });
    const failure = await admin.deployments.register({ address: "http://a" }).catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(AdminApiError);
    expect(failure).toMatchObject({ status: 409, code: "META0004", message: "known", requestId: "req_1" });
    expect((failure as AdminApiError).advice).toContain("--force");
    expect((failure as AdminApiError).advice).not.toContain("docs/"); // Users do not have the files of our repository.
  });

  test.each([
    ["PERD0101", 503, "is being set up"],
    ["PERD0102", 503, "perdure env logs"],
    ["PERD0201", 403, "larger plan"],
    ["PERD0403", 403, "credentials do not allow"],
  ])("the advice for %s is about what the platform refused", async (restate_code, status, text) => {
    const { admin } = scene({ status, body: JSON.stringify({ message: "no", restate_code }) });
    await expect(admin.version()).rejects.toMatchObject({ code: restate_code, advice: expect.stringContaining(text) });
  });

  test("reports an unreachable server, and an answer that is not one of the API", async () => {
    const { admin } = scene(
      new Error("fetch failed", { cause: new Error("connect ECONNREFUSED") }),
      { status: 502, body: "<h1>Bad gateway</h1>", headers: { "x-request-id": "r2" } },
      { status: 200, body: "<h1>Hello</h1>" },
      { status: 200, body: '{"version":3}' },
    );
    const outcomes = [];
    for (let i = 0; i < 4; i++) outcomes.push(await admin.version().catch((cause: unknown) => cause));
    expect(outcomes).toMatchObject([
      { status: 0, message: "http://localhost:9070 cannot be reached: connect ECONNREFUSED" },
      { status: 502, message: "<h1>Bad gateway</h1>", requestId: "r2" },
      { message: expect.stringContaining("not valid JSON") },
      { message: expect.stringContaining("version") },
    ]);
  });

  test("an abort rejects with the caller's own reason", async () => {
    const { admin } = scene(new Error("aborted"));
    const reason = new Error("enough");
    const failure = await admin.version({ signal: AbortSignal.abort(reason) }).catch((cause: unknown) => cause);
    expect(failure).not.toBeInstanceOf(AdminApiError);
  });

  test("names cannot leave their segment of the path", async () => {
    const { admin, requests } = scene({ status: 202 });
    await admin.deployments.remove("../x?force=true", false);
    expect(requests[0]?.url.href).toBe("http://localhost:9070/base/v4/deployments/..%2Fx%3Fforce%3Dtrue?force=false");
    expect(() => handlerPath("call", { service: "O", key: "..", handler: "h" })).toThrow(AdminApiError);
  });
});

test("the findings of a refusal are those of a well-formed deploy check", () => {
  const refusal = (body: unknown) => new AdminApiError(409, "refused", { body });
  const counts = '"found":1,"checked":1,"compatible":0,"incompatible":1,"failed":0,"skipped":0';
  const verification: unknown = JSON.parse(
    `{"checked_at":"2026-11-21T07:25:50Z","duration":"1s",${counts},"is_complete":true,"findings":[],"findings_left_out":0}`,
  );
  expect(findingsOf(refusal({ verification }))).toEqual(verification);
  for (const other of [undefined, "text", { verification: { findings: "none" } }])
    expect(findingsOf(refusal(other))).toBe(undefined);
  expect(findingsOf(new Error("no answer"))).toBe(undefined);
});

describe("the ingress client", () => {
  test("calls with key, idempotency key and, by default, JSON", async () => {
    const { ingress, requests } = scene({
      status: 200,
      body: "5",
      headers: { "x-restate-id": "inv_1", "content-type": "application/json" },
    });
    const outcome = await ingress.call({ service: "Counter", key: "a/b", handler: "add" }, { body: "5", idempotencyKey: "k" });
    expect(outcome).toEqual({ status: 200, invocationId: "inv_1", contentType: "application/json", body: utf8("5") });
    expect(requests[0]).toMatchObject({ method: "POST", body: "5", isRepeatable: false });
    expect(requests[0]?.url.pathname).toBe("/Counter/a%2Fb/add");
    expect(requests[0]?.headers).toMatchObject({ "content-type": "application/json", "idempotency-key": "k" });
  });

  test("a failure of the handler comes with its invocation and without our advice", async () => {
    const headers = { "x-restate-id": "inv_1", "x-restate-error-source": "invocation" };
    const { ingress } = scene({ status: 503, body: '{"code":503,"message":"sold out","source":"invocation"}', headers });
    const failure = (await ingress.call({ service: "S", handler: "h" }).catch((cause: unknown) => cause)) as InvocationFailure;
    expect(failure).toBeInstanceOf(InvocationFailure);
    expect(failure).toMatchObject({
      status: 503,
      message: "sold out",
      invocationId: "inv_1",
      source: "invocation",
      advice: undefined,
    });
  });

  test("sends into scopes and with delays", async () => {
    const { ingress, requests } = scene({ status: 202, body: '{"invocationId":"inv_2","status":"Accepted"}' });
    expect(await ingress.send({ service: "S", handler: "h" }, { scope: "acme", limitKey: "t1" }, "10s")).toMatchObject({
      invocationId: "inv_2",
    });
    expect(requests[0]?.url.href).toBe("http://localhost:8080/restate/scope/acme/send/S/h?delay=10s");
    expect(requests[0]?.headers).toMatchObject({ "x-restate-limit-key": "t1" });
    expect(requests[0]?.headers).not.toHaveProperty("content-type");
  });

  test("a running invocation has no output yet", async () => {
    const { ingress } = scene({ status: 470, body: "{}" });
    expect(await ingress.output("inv_1")).toBeUndefined();
  });
});
