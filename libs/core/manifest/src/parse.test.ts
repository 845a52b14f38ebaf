import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import type { Manifest } from "./definition.js";
import { MANIFEST_ACCEPT, parseManifest } from "./parse.js";
import { noOptions } from "./testing/index.js";

const V4 = "application/vnd.restate.endpointmanifest.v4+json";

function wire(services: readonly object[], change: object = {}): string {
  return JSON.stringify({ protocolMode: "BIDI_STREAM", minProtocolVersion: 5, maxProtocolVersion: 7, services, ...change });
}

/** A manifest of one service with one handler and the given changes. */
function wireHandler(handler: object, service: object = {}): string {
  return wire([{ name: "S", ty: "SERVICE", handlers: [{ name: "h", ...handler }], ...service }]);
}

function accepted(text: string): Manifest {
  const parsed = parseManifest(V4, text);
  if (!parsed.ok) throw new Error(parsed.problem.detail);
  return parsed.manifest;
}

function onlyHandler(text: string) {
  return accepted(text).services[0]?.handlers[0];
}

function refused(text: string, contentType: string | undefined = V4) {
  const parsed = parseManifest(contentType, text);
  if (parsed.ok) throw new Error("was accepted");
  return parsed.problem;
}

describe("manifests recorded from published SDKs", () => {
  const recorded = JSON.parse(readFileSync(new URL("../testdata/recorded-manifests.json", import.meta.url), "utf8")) as Record<
    string,
    { contentType: string; raw: string }
  >;

  test.each(Object.entries(recorded))("%s is parsed", (_name, { contentType, raw }) => {
    const parsed = parseManifest(contentType, raw);
    expect(parsed.ok).toBe(true);
    const names = (JSON.parse(raw) as { services: { name: string }[] }).services.map(({ name }) => name);
    expect(parsed.ok && parsed.manifest.services.map(({ name }) => name)).toEqual(names);
  });

  test("options of version 4 are translated", () => {
    const parsed = parseManifest(V4, recorded["v4-options.bidi.accept-all"]?.raw ?? "");
    const services = new Map(parsed.ok ? parsed.manifest.services.map((service) => [service.name, service]) : []);
    expect(services.get("RetryService")?.options.retry).toEqual({
      initialIntervalMs: 100,
      factor: 1.5,
      maxIntervalMs: 10_000,
      maxAttempts: 5,
      onMaxAttempts: "kill",
    });
    expect(services.get("RetryService")?.handlers[0]?.options.retry.onMaxAttempts).toBe("pause");
    expect(services.get("TunedService")).toMatchObject({
      kind: "service",
      options: {
        journalRetentionMs: 1_800_000,
        idempotencyRetentionMs: 3_600_000,
        inactivityTimeoutMs: 45_000,
        abortTimeoutMs: 90_000,
        ingressPrivate: false,
      },
      handlers: [{ kind: "shared", options: { ingressPrivate: true } }],
    });
    expect(
      services
        .get("TunedWorkflow")
        ?.handlers.map(({ name, kind, workflowCompletionRetentionMs }) => [name, kind, workflowCompletionRetentionMs]),
    ).toEqual([
      ["run", "workflow", 172_800_000],
      ["status", "shared", undefined],
    ]);
    expect(
      services.get("PlainService")?.handlers.map(({ input, output }) => [input.none, input.contentType, output.contentType]),
    ).toEqual([
      [false, "application/json", "application/json"],
      [false, "application/octet-stream", "application/octet-stream"],
      [true, "*/*", undefined],
      [false, "*/*", "application/json"],
    ]);
    expect(services.get("PlainService")).toMatchObject({ documentation: "A plain service", metadata: { team: "a", "x-y": "z" } });
  });
});

describe("defaults of a manifest", () => {
  test("any input, JSON output, no options", () => {
    expect(accepted(wireHandler({}))).toEqual({
      protocolMode: "bidiStream",
      minProtocolVersion: 5,
      maxProtocolVersion: 7,
      lambdaCompression: undefined,
      services: [
        {
          name: "S",
          kind: "service",
          documentation: undefined,
          metadata: {},
          options: noOptions(),
          handlers: [
            {
              name: "h",
              kind: "shared",
              documentation: undefined,
              metadata: {},
              input: { none: false, required: false, contentType: "*/*", jsonSchema: undefined },
              output: { contentType: "application/json", setContentTypeIfEmpty: false, jsonSchema: undefined },
              options: noOptions(),
              workflowCompletionRetentionMs: undefined,
            },
          ],
        },
      ],
    });
  });

  test.each([
    [{}, { none: true, contentType: "*/*", required: false }],
    [{ required: true }, { none: false, contentType: "*/*", required: true }],
    [{ contentType: "text/plain" }, { none: false, contentType: "text/plain", required: false }],
    [{ jsonSchema: true }, { none: false, contentType: "application/json", required: false }],
  ])("input %j", (input, expected) => {
    expect(onlyHandler(wireHandler({ input }))?.input).toMatchObject(expected);
  });

  test.each([
    [{}, { contentType: undefined, setContentTypeIfEmpty: false }],
    [
      { contentType: "text/plain", setContentTypeIfEmpty: true },
      { contentType: "text/plain", setContentTypeIfEmpty: true },
    ],
    [{ jsonSchema: {} }, { contentType: "application/json", setContentTypeIfEmpty: false }],
  ])("output %j", (output, expected) => {
    expect(onlyHandler(wireHandler({ output }))?.output).toMatchObject(expected);
  });

  test.each([
    ["VIRTUAL_OBJECT", "exclusive"],
    ["WORKFLOW", "shared"],
    ["SERVICE", "shared"],
  ])("the handler type in a %s is %s", (ty, kind) => {
    expect(onlyHandler(wireHandler({}, { ty }))?.kind).toBe(kind);
  });

  test("null means absent, zero attempts mean one, and the last entry of a name is used", () => {
    const text = wire([
      { name: "S", ty: "SERVICE", documentation: "first", handlers: [] },
      {
        name: "S",
        ty: "SERVICE",
        documentation: null,
        handlers: [
          { name: "h", ty: null, input: null, abortTimeout: null },
          { name: "h", retryPolicyMaxAttempts: 0 },
        ],
      },
    ]);
    const { services } = accepted(text);
    expect(services).toHaveLength(1);
    expect(services[0]?.documentation).toBeUndefined();
    expect(services[0]?.handlers.map(({ options }) => options.retry.maxAttempts)).toEqual([1]);
  });

  test("an empty list of services is valid", () => {
    expect(accepted(wire([], { lambdaCompression: "zstd", protocolMode: "REQUEST_RESPONSE" }))).toMatchObject({
      services: [],
      lambdaCompression: "zstd",
      protocolMode: "requestResponse",
    });
  });
});

describe("responses without a manifest are META0013", () => {
  test.each([undefined, "", "application/json", "application/vnd.restate.endpointmanifest.v5+json", MANIFEST_ACCEPT])(
    "content type %p",
    (contentType) => {
      const parsed = parseManifest(contentType, wire([]));
      expect(parsed).toMatchObject({ ok: false, problem: { status: 500, code: "META0013" } });
    },
  );

  test("a manifest without mode, or with its versions the wrong way round", () => {
    expect(refused(wire([], { protocolMode: undefined }))).toMatchObject({ status: 500, code: "META0013" });
    expect(refused(wire([], { minProtocolVersion: 7, maxProtocolVersion: 5 }))).toMatchObject({ status: 500, code: "META0013" });
  });
});

describe("a response that cannot be decoded is quoted in the error, without a code", () => {
  test.each([
    ["broken JSON", "{oops"],
    ["no object", "[]"],
    ["no services", JSON.stringify({ protocolMode: "BIDI_STREAM", minProtocolVersion: 5, maxProtocolVersion: 7 })],
    ["version 0", wire([], { minProtocolVersion: 0 })],
    ["a fraction of a version", wire([], { maxProtocolVersion: 5.5 })],
    ["an unknown mode", wire([], { protocolMode: "CARRIER_PIGEON" })],
    ["an unknown field", wire([], { extra: 1 })],
    ["an unknown field of a service", wireHandler({}, { extra: 1 })],
    ["an unknown field of a handler", wireHandler({ extra: 1 })],
    ["an unknown field of an input", wireHandler({ input: { extra: 1 } })],
    ["an unknown field of an output", wireHandler({ output: { extra: 1 } })],
    ["an unknown service type", wireHandler({}, { ty: "ACTOR" })],
    ["a bad service name", wireHandler({}, { name: "bad name!" })],
    ["a service name of an underscore", wireHandler({}, { name: "_" })],
    ["a bad handler name", wireHandler({ name: "a-b" })],
    ["a negative duration", wireHandler({ abortTimeout: -1 })],
    ["a duration beyond all bounds", wireHandler({ abortTimeout: 1e15 })],
    ["a factor of nothing", wireHandler({ retryPolicyExponentiationFactor: 0 })],
    ["metadata that is not text", wireHandler({ metadata: { a: 1 } })],
  ])("%s", (_what, text) => {
    const problem = refused(text);
    expect(problem).toMatchObject({ status: 500, code: undefined });
    expect(problem.detail).toContain(`Discovery response: ${text}`);
  });

  test("an endless response is quoted in part", () => {
    expect(refused(`{"a":"${"x".repeat(100_000)}`).detail.length).toBeLessThan(5000);
  });
});

describe("rules a well-formed manifest can break are 400", () => {
  test.each(["restate", "RestateThing", "openapi", "OpenAPI", "perdure.webhooks", "Perdure.Webhooks"])(
    "the reserved name %s is META0005",
    (name) => {
      expect(refused(wireHandler({}, { name }))).toMatchObject({ status: 400, code: "META0005" });
    },
  );

  test("names that only look reserved are valid", () => {
    expect(accepted(wireHandler({}, { name: "openapis" })).services[0]?.name).toBe("openapis");
    expect(accepted(wireHandler({}, { name: "my.restate-1" })).services[0]?.name).toBe("my.restate-1");
  });

  test.each([
    ["an exclusive handler in a service", wireHandler({ ty: "EXCLUSIVE" })],
    ["a workflow handler in a service", wireHandler({ ty: "WORKFLOW" })],
    ["a workflow handler in an object", wireHandler({ ty: "WORKFLOW" }, { ty: "VIRTUAL_OBJECT" })],
    ["an exclusive handler in a workflow", wireHandler({ ty: "EXCLUSIVE" }, { ty: "WORKFLOW" })],
    ["workflow retention outside a run", wireHandler({ workflowCompletionRetention: 1 })],
    ["workflow retention on a shared handler", wireHandler({ ty: "SHARED", workflowCompletionRetention: 1 }, { ty: "WORKFLOW" })],
    ["idempotency retention on a run", wireHandler({ ty: "WORKFLOW", idempotencyRetention: 1 }, { ty: "WORKFLOW" })],
    ["a public handler in a private service", wireHandler({ ingressPrivate: false }, { ingressPrivate: true })],
    ["a malformed input type", wireHandler({ input: { contentType: "json" } })],
    ["a wildcard for half a type", wireHandler({ input: { contentType: "*/json" } })],
    ["a malformed output type", wireHandler({ output: { contentType: "text" } })],
    ["a malformed input schema", wireHandler({ input: { jsonSchema: { type: "objekt" } } })],
    ["a malformed output schema", wireHandler({ output: { jsonSchema: { required: "name" } } })],
    ["a schema that is a list", wireHandler({ output: { jsonSchema: [] } })],
  ])("%s", (_what, text) => {
    expect(refused(text)).toMatchObject({ status: 400, code: undefined, detail: expect.stringContaining("handler 'S/h'") });
  });

  test.each([
    ["a shared handler in a service", wireHandler({ ty: "SHARED" })],
    [
      "several runs in a workflow",
      wire([
        {
          name: "W",
          ty: "WORKFLOW",
          handlers: [
            { name: "a", ty: "WORKFLOW" },
            { name: "b", ty: "WORKFLOW" },
          ],
        },
      ]),
    ],
    ["an input type with parameters", wireHandler({ input: { contentType: "text/plain; charset=utf-8" } })],
    ["an output type that is a range", wireHandler({ output: { contentType: "text/*" } })],
    ["an output of any type", wireHandler({ output: { contentType: "*/*" } })],
    ["an output type with parameters", wireHandler({ output: { contentType: 'text/plain; charset="utf-8"' } })],
    ["a whole input type", wireHandler({ input: { contentType: "text/*" } })],
    [
      "schemas of all dialects",
      wire(
        [
          "https://json-schema.org/draft/2020-12/schema",
          "https://json-schema.org/draft/2019-09/schema",
          "http://json-schema.org/draft-07/schema#",
          "http://json-schema.org/draft-04/schema#",
        ].map((dialect, index) => ({
          name: `S${index}`,
          ty: "SERVICE",
          handlers: [
            {
              name: "h",
              input: { jsonSchema: { $schema: dialect, type: "object", properties: { a: { $ref: "#/definitions/x" } } } },
            },
          ],
        })),
      ),
    ],
  ])("%s is fine", (_what, text) => {
    expect(parseManifest(V4, text)).toMatchObject({ ok: true });
  });
});
