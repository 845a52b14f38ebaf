import { describe, expect, test } from "@jest/globals";
import type { VerificationView } from "@perdure/admin-client";
import { aHandler, aService } from "@perdure/admin-client/testing";
import { InvalidArgumentError } from "commander";
import { changeLines, changesOf } from "./deployment-report.js";
import { commandOf } from "./remedy-command.js";
import { curlOf } from "./services.js";
import { csvLines } from "./sql-rows.js";
import { bytesJson, bytesText } from "./texts.js";
import { headers, invocationId, oneOf, pairs, rulePattern, sinkUri, wholeNumber } from "./values.js";
import { verificationLines } from "./verification.js";

const serviceOf = (name: string, revision: number, handlers: readonly string[], ty = "Service") =>
  aService(
    name,
    handlers.map((handler) => aHandler(handler)),
    { ty, revision },
  );

test("changes of a registration are listed by service and handler", () => {
  const currentServices = [serviceOf("Same", 1, ["a"]), serviceOf("Cart", 2, ["add", "old"]), serviceOf("Kind", 1, ["a"])];
  const newServices = [
    serviceOf("Same", 1, ["a"]),
    serviceOf("Cart", 3, ["add", "clear"]),
    serviceOf("New", 1, ["x", "y"]),
    serviceOf("Kind", 2, ["a"], "Workflow"),
  ];
  expect(changeLines(changesOf(currentServices, newServices))).toEqual([
    "= Same (Service, revision 1): unchanged",
    "~ Cart (Service), revision 2 → 3: +clear -old",
    "+ New (Service): x, y",
    "~ Kind (Workflow), revision 1 → 2: Service → Workflow",
  ]);
});

describe("a ready curl", () => {
  test("has a key where one is needed and a body that the handler may take", () => {
    const schema = {
      type: "object",
      properties: { name: { type: "string" }, count: { type: "integer" }, tags: { type: "array" } },
    };
    const handler = aHandler("add", {
      input_description: "value of content-type 'application/json'",
      input_json_schema: schema,
    });
    const cart = serviceOf("Cart", 1, [], "VirtualObject");
    expect(curlOf("http://localhost:8080/", cart, handler)).toBe(
      `curl localhost:8080/Cart/my-key/add --json '{"name":"Ann","count":1,"tags":[]}'`,
    );
    expect(curlOf("https://x.env.us.perdure.dev:8080", serviceOf("S", 1, []), { ...handler, input_description: "none" })).toBe(
      "curl https://x.env.us.perdure.dev:8080/S/add -X POST",
    );
  });

  test.each([undefined, {}])("has a placeholder for the body when the schema is %j", (schema) => {
    const handler = aHandler("add", { input_json_schema: schema });
    expect(curlOf("http://localhost:8080/", serviceOf("S", 1, []), handler)).toBe("curl localhost:8080/S/add --json '<JSON>'");
  });

  test("has an example for a schema whose parts are malformed", () => {
    const schema = {
      type: "object",
      examples: "none",
      properties: { name: null, tags: { type: ["array"] }, at: { properties: 1 } },
    };
    const handler = aHandler("add", { input_json_schema: schema });
    expect(curlOf("http://localhost:8080/", serviceOf("S", 1, []), handler)).toBe(
      `curl localhost:8080/S/add --json '{"name":"Ann","tags":[],"at":"Ann"}'`,
    );
  });

  test("is one word for every shell", () => {
    const handler = aHandler("add", { input_json_schema: { examples: [{ a: "it's" }] } });
    expect(curlOf("http://localhost:8080/", serviceOf("S", 1, []), handler)).toBe(
      `curl localhost:8080/S/add --json '{"a":"it'\\''s"}'`,
    );
  });
});

test("CSV quotes what needs it, and a column may be missing in some rows", () => {
  expect(csvLines([{ a: 1, b: 'x"y' }, { b: "p,q", c: null }, { c: [1, 2] }])).toEqual([
    "a,b,c",
    '1,"x""y",',
    ',"p,q",',
    ',,"[1,2]"',
  ]);
  expect(csvLines([])).toEqual([]);
});

test("remedies of an explanation become commands", () => {
  expect(commandOf("PATCH /invocations/inv_1/restart-as-new")).toBe("perdure invocations restart inv_1");
  expect(commandOf("PATCH /invocations/inv_1/resume?deployment=latest")).toBe(
    "perdure invocations resume inv_1 --deployment latest",
  );
  expect(commandOf("POST /vqueues/vq_1/resume")).toBe("perdure queues resume vq_1");
  expect(commandOf("POST /deployments")).toBeUndefined();
});

test("bytes are shown as what they are", () => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  expect([bytesText(text('{"a":1}')), bytesText(text("hi")), bytesText(new Uint8Array([255]))]).toEqual([
    '{"a":1}',
    "hi",
    "(1 B of binary data)",
  ]);
  expect([bytesJson(text('{"a":1}')), bytesJson(text("hi")), bytesJson(new Uint8Array([255])), bytesJson(text(""))]).toEqual([
    { a: 1 },
    "hi",
    { base64: "/w==" },
    null,
  ]);
});

test("flags are checked where they are read", () => {
  expect(headers("Authorization: Bearer a:b", headers("x=1", undefined))).toEqual({ x: "1", authorization: "Bearer a:b" });
  expect(pairs("a=b=c", undefined)).toEqual({ a: "b=c" });
  expect(oneOf(["a", "b"])("A, b", undefined)).toEqual(["a", "b"]);
  for (const wrong of [
    () => headers("nothing", undefined),
    () => pairs("=x", undefined),
    () => oneOf(["a"])("c", undefined),
    () => wholeNumber(1, 5)("6"),
    () => wholeNumber(1)("1.5"),
  ]) {
    expect(wrong).toThrow(InvalidArgumentError);
  }
});

test("the report of a check begins with its result", () => {
  const finding = {
    kind: "journal_mismatch",
    service: "Orders",
    handler: "place",
    invocations: 3,
    invocation_id: "inv_1",
    status: "suspended",
    deployment_id: "dp_1",
    code: "RT0016",
    command_index: 3,
    message: "differs\nstack",
  };
  const outcome: VerificationView = {
    checked_at: "",
    duration: "1s",
    found: 41,
    checked: 30,
    compatible: 27,
    incompatible: 3,
    failed: 1,
    skipped: 0,
    is_complete: false,
    findings: [finding],
    findings_left_out: 2,
  };
  expect(verificationLines(outcome)).toEqual([
    "Check: 3 would fail (27 of 30 compatible, 1 unclear, a sample of 41; took 1s)",
    "  journal_mismatch RT0016: Orders/place, 3× (inv_1 at command 3): differs",
    "  … and 2 more kinds of findings",
  ]);
});

describe("what can be checked without a server is refused before a request, with a message of the command line", () => {
  test("ids of invocations", () => {
    const id = "inv_1gm4LUXPiTUX1WkZ5bZXtGwmwbP9zKNGHD";
    expect(invocationId(id)).toBe(id);
    for (const text of ["nope", "", "inv_1", `${id}x`]) expect(() => invocationId(text)).toThrow(/begin with inv_1/);
  });

  test("sinks of subscriptions, which may be written as a handler", () => {
    expect(sinkUri("Greeter/greet")).toBe("service://Greeter/greet");
    expect(sinkUri("service://Greeter/greet")).toBe("service://Greeter/greet");
    for (const text of ["Greeter", "Greeter/", "/greet", "Counter/key/add"])
      expect(() => sinkUri(text)).toThrow(/Write Service.handler/);
  });

  test("patterns of rules", () => {
    for (const text of ["acme", "acme/*", "*/*/*", "acme/tenant-1/user_2"]) expect(rulePattern(text)).toBe(text);
    for (const text of ["", "acme/***", "a/b/c/d", "acme/", "a b"])
      expect(() => rulePattern(text)).toThrow(/A pattern is a scope/);
  });
});
