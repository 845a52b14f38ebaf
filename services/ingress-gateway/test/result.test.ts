/** Fetching results later, and completing awakeables. */

import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  awakeableId,
  type InvocationId,
  idempotentInvocationId,
  newInvocationId,
  PerdureError,
  systemRandom,
  utf8,
} from "@perdure/base";
import { until } from "@perdure/testkit";
import { aHandler, aRegistry } from "../src/testing/index.js";
import { bothProtocols, type Client, openClient } from "./client.js";
import { type Fixture, startIngress, success } from "./fixture.js";

async function idOfSend(client: Client, path: string, headers: Record<string, string> = {}): Promise<InvocationId> {
  const answer = await client.send({ path: `${path}/send`, headers });
  return JSON.parse(answer.text).invocationId;
}

describe.each(bothProtocols)("results over %s", (http) => {
  let fixture: Fixture;
  let client: Client;
  const of = (contentType: string) => ({ output: { contentType, setContentTypeIfEmpty: false } });
  const registry = aRegistry({
    S: { type: "service", handlers: [aHandler("S", "h", of("a/b"))] },
    Wf: {
      type: "workflow",
      handlers: [aHandler("Wf", "peek"), aHandler("Wf", "main", { handlerType: "workflow", ...of("w/f") })],
    },
  });
  beforeEach(async () => {
    registry.replace(new Map(original));
    fixture = await startIngress({ registry, script: () => "pending" });
    client = openClient(http, fixture.port);
  });
  afterEach(async () => {
    await client[Symbol.asyncDispose]();
    await fixture[Symbol.asyncDispose]();
  });
  const original = registry.current().services;

  test("an attached caller gets the result when it comes, with the handler's content type", async () => {
    const id = await idOfSend(client, "/S/h");
    const response = client.send({ method: "GET", path: `/restate/attach/${id}` });
    await until(() => fixture.partitions.waiting.has(id), "the caller waits");
    fixture.partitions.complete(id, success("x"));
    const answer = await response;
    expect(answer).toMatchObject({ status: 200, text: "x" });
    expect(answer.headers).toMatchObject({ "content-type": "a/b", "x-restate-id": id });
    expect(answer.headers["idempotency-expires"]).toBeUndefined();
  });

  test("a stored result has the time of its expiry", async () => {
    const id = await idOfSend(client, "/S/h");
    fixture.partitions.complete(id, success("x"));
    const record = fixture.partitions.records.get(id)!;
    const expected = record.milestones.completedAtMs! + record.facts.completionRetentionMs;
    for (const verb of ["attach", "output"]) {
      const answer = await client.send({ method: "GET", path: `/restate/${verb}/${id}` });
      expect(Date.parse(String(answer.headers["idempotency-expires"]))).toBe(expected);
    }
  });

  test("an idempotent invocation is found by its key, by path and by body", async () => {
    const id = await idOfSend(client, "/S/h", { "idempotency-key": "i" });
    fixture.partitions.complete(id, success("x"));
    const body = JSON.stringify({ target: "idempotentInvocation", service: "S", handler: "h", idempotencyKey: "i" });
    const answers = await Promise.all([
      client.send({ method: "GET", path: "/restate/invocation/S/h/i/attach" }),
      client.send({ method: "GET", path: "/restate/invocation/S/h/i/output" }),
      client.send({ path: "/restate/attach", body }),
      client.send({ path: "/restate/output", body }),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 200, text: "x" });
      expect(answer.headers).toMatchObject({ "content-type": "a/b", "x-restate-id": id });
    }
    expect(JSON.parse((await client.send({ path: "/restate/lookup", body })).text)).toEqual({ invocationId: id });
  });

  test("a workflow's result has the type of its run handler, whatever that is called", async () => {
    const id = await idOfSend(client, "/Wf/k/main");
    fixture.partitions.complete(id, success("x"));
    const answer = await client.send({ method: "GET", path: "/restate/workflow/Wf/k/output" });
    expect(answer.headers).toMatchObject({ "content-type": "w/f", "x-restate-id": id });
  });

  test("a value whose handler no longer exists is not found", async () => {
    const id = await idOfSend(client, "/S/h", { "idempotency-key": "i" });
    const workflow = await idOfSend(client, "/Wf/k/main");
    fixture.partitions.complete(id, success("x"));
    fixture.partitions.complete(workflow, success("x"));
    registry.replace(new Map());
    for (const path of [`/restate/attach/${id}`, `/restate/output/${id}`, "/restate/workflow/Wf/k/attach"]) {
      const answer = await client.send({ method: "GET", path });
      expect(answer).toMatchObject({ status: 404, text: '{"code":404,"message":"not found","source":"ingress"}' });
    }
  });

  test("a result that is purged between the two reads is still returned, without a type", async () => {
    const id = await idOfSend(client, "/S/h");
    fixture.partitions.complete(id, success("x"));
    fixture.partitions.describe = async () => undefined;
    const answer = await client.send({ method: "GET", path: `/restate/attach/${id}` });
    expect(answer).toMatchObject({ status: 200, text: "x" });
    expect(answer.headers["content-type"]).toBeUndefined();
  });

  test("a partition lost between the two questions is 503", async () => {
    const id = await idOfSend(client, "/S/h");
    fixture.partitions.complete(id, success("x"));
    fixture.partitions.describe = () => Promise.reject(new Error("secret detail"));
    const answer = await client.send({ method: "GET", path: `/restate/output/${id}` });
    expect(answer.status).toBe(503);
    expect(answer.text).not.toContain("secret detail");
    expect(fixture.complaints).toMatchObject([
      { message: "partition did not answer", fields: { code: "OPS0003", kind: "output" } },
    ]);
  });

  test("a partition without a leader is 503, and many such requests are few lines without a stack", async () => {
    const id = await idOfSend(client, "/S/h");
    fixture.complaints.length = 0;
    fixture.partitions.output = () => Promise.reject(new PerdureError("STO0002", "the partition has no leader"));
    for (let n = 0; n < 30; n++) {
      expect((await client.send({ method: "GET", path: `/restate/output/${id}` })).status).toBe(503);
    }
    expect(fixture.complaints).toHaveLength(20);
    expect(fixture.complaints[0]?.fields).toEqual({
      service: "ingress",
      code: "STO0002",
      kind: "output",
      reason: "the partition has no leader",
    });
  });

  test("lookup needs no existing invocation", async () => {
    const body = JSON.stringify({
      target: "idempotentInvocation",
      service: "Nope",
      key: "k",
      handler: "h",
      idempotencyKey: "i",
      scope: "s",
    });
    const id = idempotentInvocationId({ service: "Nope", key: "k", handler: "h", scope: "s" }, "i");
    const answer = await client.send({ path: "/restate/lookup", body });
    expect(answer.text).toBe(`{"invocationId":"${id}"}`);
    expect(answer.headers["x-restate-id"]).toBeUndefined();
  });

  test.each(["PUT", "DELETE"])("%s is not a valid form of the request", async (method) => {
    for (const path of [
      "/restate/attach",
      "/restate/lookup",
      "/restate/output/inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx",
      "/restate/workflow/W/k/attach",
      "/restate/a/x/resolve",
      "/restate/health",
    ]) {
      expect((await client.send({ method, path })).status).toBe(405);
    }
    // Recorded: the id is validated first.
    expect((await client.send({ method, path: "/restate/output/inv_x" })).status).toBe(400);
  });
});

describe.each(bothProtocols)("awakeables over %s", (http) => {
  const id = newInvocationId({ service: "S", key: undefined, handler: "h" }, 0, systemRandom);
  const sign = awakeableId(id, 17);

  test("resolve signals the value, reject a failure with code 500", async () => {
    await using fixture = await startIngress();
    await using client = openClient(http, fixture.port);
    const resolved = await client.send({ path: `/restate/awakeables/${sign}/resolve`, body: "value" });
    const rejected = await client.send({ path: `/restate/a/${sign}/reject`, body: "grüß" });
    for (const answer of [resolved, rejected]) {
      expect(answer).toMatchObject({ status: 202, text: "" });
      expect(answer.headers["content-length"]).toBe("0");
      expect(answer.headers["x-restate-id"]).toBeUndefined();
    }
    const signal = { kind: "signalIndex", index: 17 };
    expect(fixture.partitions.submitted).toEqual([
      { kind: "signal", id, signal, result: { kind: "value", value: utf8("value") } },
      { kind: "signal", id, signal, result: { kind: "failure", failure: { code: 500, message: "grüß", metadata: [] } } },
    ]);
  });

  test("an empty value is a value", async () => {
    await using fixture = await startIngress();
    await using client = openClient(http, fixture.port);
    expect((await client.send({ path: `/restate/a/${sign}/resolve` })).status).toBe(202);
    expect(fixture.partitions.submitted).toMatchObject([{ result: { kind: "value", value: new Uint8Array(0) } }]);
  });

  test("a reason that is not UTF-8 is decoded as far as possible", async () => {
    await using fixture = await startIngress();
    await using client = openClient(http, fixture.port);
    expect((await client.send({ path: `/restate/a/${sign}/reject`, body: Uint8Array.of(97, 255) })).status).toBe(202);
    expect(fixture.partitions.submitted).toMatchObject([{ result: { failure: { message: "a\ufffd" } } }]);
  });

  test("an id of older SDKs is accepted and has no effect", async () => {
    await using fixture = await startIngress();
    await using client = openClient(http, fixture.port);
    const legacy = `prom_1${sign.slice("sign_1".length)}`;
    expect((await client.send({ path: `/restate/a/${legacy}/resolve`, body: "x" })).status).toBe(202);
    expect(fixture.partitions.submitted).toEqual([]);
  });
});
