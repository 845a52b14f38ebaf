/**
 * The recorded exchanges of the reference server, replayed against this ingress over real sockets and both HTTP versions. Results of
 * handlers are scripted from the recording; everything else must be the same.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type InvocationId, idempotentInvocationId, systemClock, workflowInvocationId } from "@perdure/base";
import { decodeCommand, MessageType } from "@perdure/service-protocol";
import { EMPTY_PROGRESS, type Invocation, type Outcome, PRIORITY_DEFAULT, type Target } from "@perdure/state-machine";
import { until } from "@perdure/testkit";
import { bothProtocols, type Client, openClient, type TestAnswer, type TestRequest } from "./client.js";
import { type Fixture, failure, startIngress, success } from "./fixture.js";

type Body = string | { base64: string } | { repeat: string; count: number };
interface IngressExchange {
  readonly name: string;
  readonly request: { method: string; path: string; headers?: Record<string, string>; body?: Body };
  readonly response: {
    noAnswer?: boolean;
    status?: number;
    bare?: boolean;
    headers?: Record<string, string>;
    body?: Body;
  };
}

const files = ["paths", "cors-health", "scope-default", "scope-vqueues", "awakeables", "calls", "send", "workflow", "attach"];

/** The reference responds to these with plain text; here every error of the ingress is JSON. */
const PLAIN_TEXT_ERRORS: Readonly<Record<string, IngressExchange["response"]>> = {
  "content-length above limit": {
    status: 413,
    headers: { "content-type": "application/json", "x-restate-error-source": "ingress" },
    body: '{"code":413,"message":"length limit exceeded: the request body has 41943040 bytes, and ingress.request-size-limit allows 33554432","source":"ingress"}',
  },
};

function load(file: string): IngressExchange[] {
  const url = new URL(`../testdata/${file}.json`, import.meta.url);
  const { exchanges } = JSON.parse(readFileSync(url, "utf8")) as { exchanges: IngressExchange[] };
  return exchanges.map((exchange) => ({ ...exchange, response: PLAIN_TEXT_ERRORS[exchange.name] ?? exchange.response }));
}

function bytesOf(body: Body | undefined): Buffer | undefined {
  if (body === undefined) return undefined;
  if (typeof body === "string") return Buffer.from(body);
  return "base64" in body ? Buffer.from(body.base64, "base64") : Buffer.alloc(body.count, body.repeat);
}

/** The outcome in a recorded response, if it is that of an invocation. */
function outcomeOf({ response }: IngressExchange): Outcome | "pending" {
  if (response.headers?.["x-restate-error-source"] === "invocation") {
    const { code, message, metadata, stacktrace } = JSON.parse(String(response.body));
    return failure(code, message, metadata, stacktrace);
  }
  if (response.status !== 200) return "pending";
  const value = bytesOf(response.body) ?? Buffer.alloc(0);
  return { kind: "success", value };
}

const resultPath = /^\/restate\/(?:invocation\/|workflow\/|attach\b|output\b)/;

/** Makes the partition hold what the recorded result implies. */
function prepareResult(fixture: Fixture, exchange: IngressExchange): void {
  const { request, response } = exchange;
  if (!resultPath.test(request.path)) return;
  const pending = response.noAnswer === true || response.status === 470;
  const id = response.headers?.["x-restate-id"] ?? (pending ? pendingId(request) : undefined);
  if (id === undefined || response.status === 404) return;
  const outcome = pending ? "pending" : outcomeOf(exchange);
  const record = fixture.partitions.records.get(id);
  if (record?.status === "completed" || (record !== undefined && outcome === "pending")) return;
  const contentType = response.headers?.["content-type"];
  const target: Target = {
    service: "Greeter",
    key: undefined,
    handler: contentType === undefined ? "nothing" : "greet",
    serviceType: "service",
    handlerType: "shared",
    scope: undefined,
  };
  const expires = response.headers?.["idempotency-expires"];
  fixture.partitions.records.set(id, aRecord(id as InvocationId, target, outcome, expires));
}

function pendingId({ path, body }: IngressExchange["request"]): string | undefined {
  if (path === "/restate/output" && typeof body === "string") {
    const { target, workflowName, workflowKey, scope } = JSON.parse(body) as Record<string, string | undefined>;
    if (target === "workflow") return workflowInvocationId(workflowName!, workflowKey!, scope);
  }
  const segments = path.split("/");
  const id = segments.find((segment) => segment.startsWith("inv_1"));
  if (id !== undefined) return id;
  const [, , kind, service, a, b] = segments;
  if (kind === "workflow") return workflowInvocationId(service!, a!);
  return idempotentInvocationId({ service: service!, key: undefined, handler: a! }, b!);
}

const dayMs = 86_400_000;

function aRecord(id: InvocationId, target: Target, outcome: Outcome | "pending", expires: string | undefined): Invocation {
  const expiresAtMs = expires === undefined ? systemClock.nowMs() + dayMs : Date.parse(expires);
  const common = {
    facts: {
      id,
      target,
      source: { kind: "ingress" as const },
      idempotencyKey: undefined,
      requestId: 1,
      createdAtMs: 0,
      executionTimeMs: undefined,
      completionRetentionMs: dayMs,
      journalRetentionMs: dayMs,
      randomSeed: undefined,
      trace: undefined,
      limitKey: undefined,
      priority: PRIORITY_DEFAULT,
      bytes: undefined,
    },
    modifiedAtMs: 0,
    run: 1,
    pinned: undefined,
    journal: EMPTY_PROGRESS,
    sinks: [],
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: undefined, completedAtMs: expiresAtMs - dayMs },
  };
  return outcome === "pending"
    ? { ...common, status: "invoked", pauseRequested: false }
    : { ...common, status: "completed", outcome };
}

/** Texts of the reference's parsers, which need no exact match: compared up to here. */
const parserTexts = [
  "bad path, cannot decode key: ",
  "bad delay query parameter, must be a ISO8601 duration: ",
  "cannot read body: invalid request body: ",
  "cannot read body: invalid lookup body: ",
];

function normaliseBody(text: string): string {
  const cut = parserTexts.find((prefix) => text.includes(`"message":"${prefix}`));
  if (cut !== undefined) return text.slice(0, text.indexOf(cut) + cut.length);
  if (text.startsWith('{"services":[')) return JSON.stringify(JSON.parse(text).services.sort());
  return text
    .replace(/"invocationId":"inv_1\w{33}"/, '"invocationId":"…"')
    .replace(/"executionTime":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}000000Z"/, '"executionTime":"…"');
}

function isFixedId(exchange: IngressExchange): boolean {
  const { path, headers } = exchange.request;
  return (
    resultPath.test(path) ||
    headers?.["idempotency-key"] !== undefined ||
    /^\/(?:restate\/scope\/[^/]+\/send\/)?Wf\/[^/]+\/run\b/.test(path)
  );
}

const keyedPath = /^\/(?:restate\/(?:call|send)\/)?(?:Counter|Wf)\//;

function compareId(exchange: IngressExchange, actual: string | undefined): void {
  const expected = exchange.response.headers?.["x-restate-id"];
  if (expected === undefined) return expect(actual).toBeUndefined();
  expect(actual).toMatch(/^inv_1[0-9A-Za-z]{33}$/);
  if (isFixedId(exchange)) expect(actual).toBe(expected);
  // The partition key of a keyed target is a function of its key.
  else if (keyedPath.test(exchange.request.path)) expect(actual?.slice(0, 16)).toBe(expected.slice(0, 16));
}

function compareExpiry(exchange: IngressExchange, actual: string | undefined): void {
  const expected = exchange.response.headers?.["idempotency-expires"];
  if (expected === undefined) return expect(actual).toBeUndefined();
  expect(actual).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
}

function compare(exchange: IngressExchange, answer: TestAnswer): void {
  const { response, request } = exchange;
  expect(answer.status).toBe(response.status);
  if (request.path.startsWith("/Greeter/headers?") && response.status === 200) compareReceivedHeaders(exchange);
  if (typeof response.body === "object") expect(answer.body).toEqual(bytesOf(response.body));
  else expect(normaliseBody(answer.text)).toBe(normaliseBody(response.body ?? ""));
  compareId(exchange, answer.headers["x-restate-id"] as string | undefined);
  compareExpiry(exchange, answer.headers["idempotency-expires"] as string | undefined);
  const always = response.bare
    ? {}
    : {
        vary: "origin, access-control-request-method, access-control-request-headers",
        "access-control-allow-credentials": "true",
      };
  const expected: Record<string, string | undefined> = { ...response.headers, ...always };
  const actual: Record<string, unknown> = Object.fromEntries(Object.entries(answer.headers)); // Without HTTP/2's symbols.
  for (const name of ["x-restate-id", "idempotency-expires", "date", "connection", "keep-alive", "content-length", ":status"]) {
    delete expected[name];
    delete actual[name];
  }
  expect(actual).toEqual(expected);
  expect(answer.headers.date).toMatch(/GMT$/);
  if (request.method !== "HEAD") expect(answer.headers["content-length"]).toBe(String(answer.body.length));
}

let current: { fixture: Fixture; outcome: Outcome | "pending" };

/** The recording has the headers that a handler received; here they are in the Input command. */
function compareReceivedHeaders({ response }: IngressExchange): void {
  const command = current.fixture.partitions.invoked.at(-1)!;
  const input = decodeCommand(MessageType.Input, command.input);
  if (!("kind" in input) || input.kind !== "input") throw new Error("not an Input command");
  const received = Object.fromEntries(input.headers.map(({ key, value }) => [key, value]));
  const { "content-length": _length, ...expected } = JSON.parse(String(response.body)) as Record<string, string>;
  expect(received).toMatchObject(expected);
  expect(Object.keys(received)[0]).toBe("x-restate-ingress-path");
  expect(Object.keys(received)).toHaveLength(input.headers.length);
}

function asRequest({ request, response }: IngressExchange): TestRequest {
  const body = bytesOf(request.body);
  const announced = Number(request.headers?.["content-length"] ?? 0);
  return { ...request, headers: request.headers ?? {}, body, unfinished: response.status === 413 && announced > 0 };
}

describe.each(bothProtocols)("recorded exchanges over %s", (http) => {
  describe.each(files)("%s", (file) => {
    let fixture: Fixture;
    let client: Client;
    beforeAll(async () => {
      fixture = await startIngress({
        script: () => current.outcome,
        options: { scopesEnabled: file !== "scope-default" },
      });
      client = openClient(http, fixture.port);
    });
    afterAll(async () => {
      await client[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    });

    test.each(load(file).map((exchange) => [exchange.name, exchange] as const))("%s", async (_name, exchange) => {
      current = { fixture, outcome: outcomeOf(exchange) };
      prepareResult(fixture, exchange);
      if (exchange.response.noAnswer) {
        const leaving = new AbortController();
        const abandoned = expect(client.send(asRequest(exchange), leaving.signal)).rejects.toThrow();
        await until(() => fixture.partitions.waiting.size === 1, "the request waits");
        leaving.abort();
        await abandoned;
        await until(() => fixture.partitions.waiting.size === 0, "it is detached");
        return;
      }
      compare(exchange, await client.send(asRequest(exchange)));
      expect(fixture.complaints).toEqual([]);
    });
  });
});

test("the recordings hold what these tests are about", () => {
  expect(files.map((file) => load(file).length)).toEqual([44, 12, 23, 23, 21, 64, 48, 27, 87]);
  expect(success("")).toEqual({ kind: "success", value: new Uint8Array(0) });
});
