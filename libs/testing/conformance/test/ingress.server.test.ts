/** The ingress of a running server: results, idempotency, attaching, refusals, and the published client. */
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { connect as connectClient, HttpCallError, rpc } from "@restatedev/restate-sdk-clients";
import { errorOf, eventually, type HttpAnswer, invocationIdOf, probe, TestWorld } from "../src/index.js";
import { echoService } from "../src/services/echo.js";
import { flowServices } from "../src/services/flows.js";
import { awaited } from "../src/services/index.js";
import { forgetfulService, mixedService, secretService, traceless } from "../src/services/ingress-visibility.js";
import { awakeablesService } from "../src/services/signals.js";
import { storeObject } from "../src/services/store.js";

const REQUEST_BYTES_MAX = 256 * 1024;

const echo = echoService("");
const store = storeObject("");
const flows = flowServices("");
const awakeables = awakeablesService("");

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({
    settings: { "worker.cleanup-interval": "100ms", "ingress.request-size-limit": REQUEST_BYTES_MAX },
  });
  const { flow, quick, failing, brief, caller } = flows;
  await world.deploy({
    services: [
      echo,
      store,
      awakeables,
      secretService,
      mixedService,
      forgetfulService,
      traceless,
      flow,
      quick,
      failing,
      brief,
      caller,
    ],
  });
});
afterAll(() => world[Symbol.asyncDispose]());

let keys = 0;
const key = () => `key-${++keys}`;
const post = (path: string, options: Parameters<TestWorld["ingress"]["http"]["request"]>[2] = {}) =>
  world.ingress.http.request("POST", path, options);
const get = (path: string) => world.ingress.http.request("GET", path);

function expectRefusal(answer: HttpAnswer, status: number, message: RegExp | string): void {
  expect(answer.status).toBe(status);
  expect(errorOf(answer)).toMatchObject({ code: status, source: "ingress" });
  if (typeof message === "string") expect(errorOf(answer).message).toBe(message);
  else expect(errorOf(answer).message).toMatch(message);
  expect(answer.headers["x-restate-error-source"]).toBe("ingress");
}

describe("a call", () => {
  test("answers with the result, its content type and the invocation's id", async () => {
    const answer = await world.ingress.call(["Echo", "echo"], { a: [1, "ü"] });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json).toEqual({ a: [1, "ü"] });
    expect(invocationIdOf(answer)).toMatch(/^inv_1[0-9a-zA-Z]{33}$/);
    expect(answer.headers["idempotency-expires"]).toBeUndefined();
  });

  test("may be a GET, may go by /restate/call, may end in slashes", async () => {
    expect((await get("/Echo/nil")).text).toBe("null");
    expect((await post("/restate/call/Echo/echo", { json: 1 })).json).toBe(1);
    expect((await post("/Echo/echo///", { json: 2 })).json).toBe(2);
    expect((await post(`/restate/call/Store/${key()}/key`)).status).toBe(200);
  });

  test("may come over HTTP/2 on the same port", async () => {
    const session = connect(world.server.ingressUrl);
    const stream = session.request({ ":method": "POST", ":path": "/Echo/echo", "content-type": "application/json" });
    stream.end("7");
    const text = await new Promise<string>((resolve, reject) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => resolve(Buffer.concat(chunks).toString()));
      stream.on("error", reject);
    });
    session.close();
    expect(text).toBe("7");
  });

  test("carries any bytes, any text, or nothing", async () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, i) => i % 256);
    const octets = await post("/Echo/bytes", { body: bytes, headers: { "content-type": "application/octet-stream" } });
    expect(new Uint8Array(octets.bytes)).toEqual(bytes);
    expect(octets.headers["content-type"]).toBe("application/octet-stream");
    expect((await post("/Echo/text", { body: "hi", headers: { "content-type": "text/plain" } })).text).toBe("text:hi");
    const nothing = await post("/Echo/nothing");
    expect([nothing.status, nothing.bytes.length, nothing.headers["content-type"]]).toEqual([200, 0, undefined]);
    const png = await post("/Echo/anyType", { body: "12", headers: { "content-type": "image/png" } });
    expect(png.json).toEqual({ length: 2, contentType: "image/png" });
    expect((await post("/Echo/noInput")).json).toBe("no input");
    expect((await post("/Echo/echo", { body: "", headers: { "content-type": "application/json" } })).status).toBe(200);
  });

  test("passes on the headers of the request but those of the connection", async () => {
    const headers = { "x-One": "1", authorization: "Bearer t", "idempotency-key": key() };
    const receivedHeaders = (await post("/Echo/headers?q=1", { headers })).json as Record<string, string>;
    expect(receivedHeaders).toMatchObject({
      "x-one": "1",
      authorization: "Bearer t",
      "x-restate-ingress-path": "/Echo/headers?q=1",
    });
    for (const name of ["host", "connection", "idempotency-key"]) expect(receivedHeaders).not.toHaveProperty(name);
  });

  test("fails with the code, message and metadata of the handler's error", async () => {
    const answer = await world.ingress.call(["Echo", "fail"], { message: "no tea", code: 418, metadata: { a: "b" } });
    expect(answer.status).toBe(418);
    expect(errorOf(answer)).toMatchObject({ code: 418, message: "no tea", metadata: { a: "b" }, source: "invocation" });
    expect(answer.headers["x-restate-error-source"]).toBe("invocation");
    expect(invocationIdOf(answer)).toMatch(/^inv_1/);
    expect((await world.ingress.call(["Echo", "fail"], { message: "m" })).status).toBe(500);
  });

  test("whose caller has disconnected continues and can be attached to", async () => {
    const idempotencyKey = key();
    const gone = world.ingress.call(["Echo", "busy"], { name: idempotencyKey, ms: 150 }, { idempotencyKey, withinMs: 60 });
    await expect(gone).rejects.toThrow("no answer");
    const body = { target: "idempotentInvocation", service: "Echo", handler: "busy", idempotencyKey };
    expect((await post("/restate/attach", { json: body })).json).toBe(idempotencyKey);
    expect(probe.count(`busy:${idempotencyKey}`)).toBe(1);
  });
});

describe("a send", () => {
  test("is accepted with an id", async () => {
    const answer = await post("/Echo/echo/send", { json: 1 });
    expect(answer.status).toBe(202);
    const sent = answer.json as Record<string, string>;
    expect(Object.keys(sent).sort()).toEqual(["invocationId", "status"]);
    expect(sent["invocationId"]).toBe(invocationIdOf(answer));
    expect(await world.ingress.outcome(invocationIdOf(answer))).toBe(1);
    expect((await post("/restate/send/Echo/echo", { json: 1 })).status).toBe(202);
  });

  test("with a delay has its time, and a repetition has the same", async () => {
    const idempotencyKey = key();
    const before = Date.now();
    const first = await world.ingress.send(["Echo", "echo"], "later", { delay: "300ms", idempotencyKey });
    expect(first).toMatchObject({ status: "Accepted" });
    expect(first.executionTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    const second = await world.ingress.send(["Echo", "echo"], "other", { delay: "1h", idempotencyKey });
    expect(second).toEqual({ ...first, status: "PreviouslyAccepted" });
    expect((await world.ingress.output(first.invocationId)).status).toBe(470);
    expect(await world.ingress.outcome(first.invocationId)).toBe("later");
    expect(Date.now() - before).toBeGreaterThanOrEqual(299);
  });

  test("accepts the documented forms of a delay and no others", async () => {
    for (const delay of ["10s", "1h30m", "PT60S", "1 day 2 hours", "1.5h", "1w", "01:30:00", "1d 0:0:5"]) {
      const { executionTime } = await world.ingress.send(["Echo", "echo"], 1, { delay });
      expect(Date.parse(executionTime ?? "")).toBeGreaterThan(Date.now() + 9_000);
    }
    const atOnce = await world.ingress.send(["Echo", "echo"], 1, { delay: "0" });
    expect(Date.parse(atOnce.executionTime ?? "")).toBeLessThanOrEqual(Date.now());
    for (const delay of ["1000", "-1s", "", "P1M", "soon"]) {
      expectRefusal(
        await post(`/Echo/echo/send?delay=${encodeURIComponent(delay)}`, { json: 1 }),
        400,
        /^bad delay query parameter/,
      );
    }
    expectRefusal(await post("/Echo/echo?delay=1s", { json: 1 }), 400, /^cannot use the delay query parameter with calls/);
  });
});

describe("an idempotency key", () => {
  test("makes many calls one, with one result", async () => {
    const name = key();
    const call = (argument: string) => world.ingress.call(["Echo", "count"], argument, { idempotencyKey: name });
    const answers = await Promise.all([call(name), call(name), call(name)]);
    const again = await call("something else");
    expect(new Set([...answers, again].map(invocationIdOf)).size).toBe(1);
    expect([...answers, again].map(({ json }) => json)).toEqual([1, 1, 1, 1]);
    expect(again.headers["idempotency-expires"]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/);
    expect(probe.count(`count:${name}`)).toBe(1);
  });

  test("keeps failures too", async () => {
    const idempotencyKey = key();
    const [first, second] = [
      await world.ingress.call(["Echo", "fail"], { message: "once", code: 433 }, { idempotencyKey }),
      await world.ingress.call(["Echo", "fail"], { message: "never", code: 434 }, { idempotencyKey }),
    ];
    expect([first.status, second.status, errorOf(second).message]).toEqual([433, 433, "once"]);
  });

  test("belongs to its target", async () => {
    const idempotencyKey = key();
    const [a, b] = [key(), key()];
    for (const object of [a, b, a]) await world.ingress.call(["Store", object, "append"], object, { idempotencyKey });
    expect(await world.ingress.result(["Store", a, "get"], "list")).toEqual([a]);
    expect(await world.ingress.result(["Store", b, "get"], "list")).toEqual([b]);
  });

  test("is deleted when its retention is over, counted from the end", async () => {
    const name = key();
    const call = () => world.ingress.result<number>(["Forgetful", "slow"], name, { idempotencyKey: name });
    expect([await call(), await call()]).toEqual([1, 1]);
    expect(await eventually("a second run", async () => ((await call()) === 2 ? 2 : undefined))).toBe(2);
  });

  test("is refused on a workflow's run, and when it is not visible ASCII", async () => {
    const answer = await world.ingress.call(["Quick", key(), "run"], 1, { idempotencyKey: "k" });
    expectRefusal(answer, 400, /^cannot use the idempotency key with workflow handlers/);
    expectRefusal(await post("/Echo/nil", { headers: { "idempotency-key": "\u00fc" } }), 400, /^bad header idempotency-key/);
  });
});

describe("attach and output", () => {
  test("give the result by id, by target, by path, before and after the end", async () => {
    const idempotencyKey = key();
    const { invocationId } = await world.ingress.send(["Echo", "sleep"], 600, { idempotencyKey });
    const target = { target: "idempotentInvocation", service: "Echo", handler: "sleep", idempotencyKey };
    const ways: (() => Promise<HttpAnswer>)[] = [
      () => get(`/restate/output/${invocationId}`),
      () => get(`/restate/invocation/${invocationId}/output`),
      () => get(`/restate/invocation/Echo/sleep/${idempotencyKey}/output`),
      () => post("/restate/output", { json: target }),
      () => post("/restate/output", { json: { target: "invocation", invocationId } }),
    ];
    for (const send of ways) expectRefusal(await send(), 470, "the invocation exists but has not completed yet");
    const attached = await Promise.all([
      get(`/restate/attach/${invocationId}`),
      get(`/restate/invocation/${invocationId}/attach`),
      get(`/restate/invocation/Echo/sleep/${idempotencyKey}/attach`),
      post("/restate/attach", { json: target }),
    ]);
    expect(attached.map(({ json }) => json)).toEqual(["slept", "slept", "slept", "slept"]);
    for (const send of ways) expect((await send()).json).toBe("slept");
    expect((await post("/restate/lookup", { json: target })).json).toEqual({ invocationId });
  });

  test("know what there is not", async () => {
    const unknown = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx";
    expectRefusal(await get(`/restate/output/${unknown}`), 404, "invocation not found");
    const attached = await get(`/restate/attach/${unknown}`);
    expect([attached.status, attached.headers["x-restate-id"]]).toEqual([404, unknown]);
    expect(errorOf(attached)).toMatchObject({ message: "not found", source: "invocation" });
    expectRefusal(await get("/restate/attach/inv_bad"), 400, "bad invocation id 'inv_bad': unrecognized codec version");
    expect((await get("/restate/workflow/Nowhere/k/output")).status).toBe(404);
  });

  test("find nothing where nothing is kept", async () => {
    const answer = await world.ingress.call(["Traceless", "hi"]);
    expect(answer.json).toBe("hi");
    expect((await world.ingress.output(invocationIdOf(answer))).status).toBe(404);
  });

  test("derive the ids that the protocol's examples name", async () => {
    const lookup = async (json: object) =>
      ((await post("/restate/lookup", { json })).json as { invocationId: string }).invocationId;
    expect(await lookup({ target: "workflow", workflowName: "KW", workflowKey: "w1" })).toBe(
      "inv_12kpUQONmeFb5GfQ5Aad3ZqyyYF8gK6i6g",
    );
    expect(await lookup({ target: "idempotentInvocation", service: "K", handler: "ok", idempotencyKey: "ik1" })).toBe(
      "inv_1g5NtJbA3zC51tNcbz4THNX4J0JAqVSGMB",
    );
    expect(await lookup({ target: "idempotentInvocation", service: "KO", key: "kk", handler: "x", idempotencyKey: "ik2" })).toBe(
      "inv_1cLjQsoOSa8w6eovhzxz0UNDZnbdlTFvvm",
    );
  });
});

describe("the ingress refuses", () => {
  test("what is private, and lets handlers through", async () => {
    expectRefusal(await world.ingress.call(["Secret", "greet"], "x"), 400, "the invoked service is not public");
    expectRefusal(await world.ingress.call(["Mixed", "closed"]), 400, "the invoked service is not public");
    expect(await world.ingress.result(["Mixed", "open"])).toBe("open");
    expect(await world.ingress.result(["Mixed", "viaSelf"])).toBe("closed");
    expect(await world.ingress.result(["Mixed", "secret"], "bob")).toBe("psst, bob");
    await world.admin.patch("/services/Secret", { public: true });
    expect(await world.ingress.result(["Secret", "greet"], "all")).toBe("psst, all");
  });

  test("services, handlers, paths, methods and content types that it does not know", async () => {
    expectRefusal(await post("/Nowhere/x"), 404, /^service 'Nowhere' not found/);
    expectRefusal(await post("/Echo/nothere"), 404, /^the service 'Echo' exists, but the handler 'nothere' was not found/);
    expectRefusal(await get("/"), 400, "bad path: /");
    expectRefusal(await post("/Echo"), 400, "bad path: /Echo");
    expectRefusal(await post("/Store/append"), 400, /^bad path, expected either/);
    expectRefusal(await post("/Echo/key/echo"), 400, /^bad path, expected either/);
    expectRefusal(await post("/Store/%ff%fe/key"), 400, /^bad path, cannot decode key/);
    expectRefusal(await world.ingress.http.request("PUT", "/Echo/echo", { json: 1 }), 405, "method not allowed");
    expectRefusal(
      await post("/Echo/echo", { body: "x", headers: { "content-type": "text/plain" } }),
      400,
      /^input validation error: Content-type/,
    );
    expectRefusal(await post("/Echo/noInput", { json: 1 }), 400, /^input validation error/);
    expectRefusal(await post("/restate/scope/a%20b/call/Echo/echo", { json: 1 }), 400, /^bad scope value/);
    expectRefusal(await post("/restate/scope/s/call/Store/k/append", { json: 1 }), 400, /^scope is not supported/);
  });

  test("bodies above its limit, announced or not", async () => {
    const large = "x".repeat(REQUEST_BYTES_MAX + 1);
    expect((await post("/Echo/size", { json: large })).status).toBe(413);
    const chunked = await post("/Echo/size", {
      body: large,
      headers: { "transfer-encoding": "chunked", "content-type": "application/json" },
    });
    expect(chunked.status).toBe(413);
    expect(await world.ingress.result(["Echo", "size"], "x".repeat(REQUEST_BYTES_MAX - 2))).toBe(REQUEST_BYTES_MAX - 2);
  });

  test("nothing of a preflight, and names the services in answers about its health", async () => {
    const preflight = await world.ingress.http.request("OPTIONS", "/Echo/echo", {
      headers: { origin: "http://here", "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers["access-control-allow-origin"]]).toEqual([200, "http://here"]);
    const { services } = (await get("/restate/health")).json as { services: string[] };
    expect(services).toEqual(expect.arrayContaining(["Echo", "Store", "Secret"]));
  });
});

describe("the published client", () => {
  const client = () => connectClient({ url: world.server.ingressUrl });

  test("calls services and objects, sends, and waits for results", async () => {
    const ingress = client();
    expect(await ingress.serviceClient(echo).echo({ a: 1 })).toEqual({ a: 1 });
    const name = `a/b c ${key()}`;
    expect(await ingress.objectClient(store, name).key()).toBe(name);
    const sent = await ingress.serviceSendClient(echo).sleep(30, rpc.sendOpts({ idempotencyKey: key() }));
    expect(await ingress.result(sent)).toBe("slept");
    const later = await ingress.objectSendClient(store, name).append(1, rpc.sendOpts({ delay: 50, idempotencyKey: key() }));
    expect(await ingress.result(later)).toEqual([1]);
    const failed = ingress.serviceClient(echo).fail({ message: "no", code: 455 });
    await expect(failed).rejects.toBeInstanceOf(HttpCallError);
    await expect(failed).rejects.toMatchObject({ status: 455 });
  });

  test("submits workflows and completes awakeables", async () => {
    const ingress = client();
    const workflow = ingress.workflowClient(flows.flow, key());
    expect((await workflow.workflowSubmit("in")).status).toBe("Accepted");
    expect((await workflow.workflowSubmit("in")).status).toBe("PreviouslyAccepted");
    expect(await workflow.workflowOutput()).toMatchObject({ ready: false });
    await workflow.resolve("out");
    expect(await workflow.workflowAttach()).toEqual({ input: "in", value: "out" });
    expect(await workflow.workflowOutput()).toEqual({ ready: true, result: { input: "in", value: "out" } });
    for (const reject of [false, true]) {
      const name = key();
      const waiting = ingress.serviceClient(awakeables).wait(name);
      const outcome = Promise.resolve(waiting);
      const id = await eventually("the awakeable", () => probe.get<string>(awaited(name)));
      if (reject) await ingress.rejectAwakeable(id, "no");
      else await ingress.resolveAwakeable(id, { yes: 1 });
      expect(await outcome).toEqual(reject ? { code: 500, message: "no" } : { value: { yes: 1 } });
    }
  });
});
