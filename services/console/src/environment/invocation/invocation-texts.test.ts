import { describe, expect, test } from "@jest/globals";
import { INVOCATION_VERBS } from "@perdure/admin-contract";
import { remedyOf, whyNot, whyNotMove } from "./action-rules.js";
import { eventAt, eventOf, partsOf } from "./failure-text.js";
import { durationMs, factsOf } from "./invocation-facts.js";
import { beginning, inOneLine, sizeText, valueOfBytes, valueOfPayload } from "./value-text.js";

const utf8 = (text: string) => new TextEncoder().encode(text);

describe("values", () => {
  test("are laid out when they are JSON, and left alone otherwise", () => {
    expect(valueOfBytes(utf8('{"a":[1]}'))).toEqual({ kind: "json", text: '{\n  "a": [\n    1\n  ]\n}', isCut: false });
    expect(valueOfBytes(utf8("plain words"))).toEqual({ kind: "text", text: "plain words", isCut: false });
    expect(valueOfBytes(new Uint8Array())).toEqual({ kind: "empty", text: "", isCut: false });
  });

  test("keep numbers that no double can hold", () => {
    expect(valueOfBytes(utf8('{"id":12345678901234567890}')).text).toContain("12345678901234567890");
  });

  test("that are not text are digits", () => {
    expect(valueOfBytes(Uint8Array.of(0xff, 0x00, 0x10)).text).toBe("ff 00 10");
    expect(valueOfBytes(utf8("a\u0000b")).kind).toBe("hex");
    expect(valueOfBytes(new Uint8Array(17)).text).toBe(`${Array(16).fill("00").join(" ")}\n00`);
  });

  test("values that the server cut are not formatted, and are marked as cut", () => {
    expect(valueOfPayload({ text: '{"a":', cut: true })).toEqual({ kind: "text", text: '{"a":', isCut: true });
    expect(valueOfPayload({ base64: "/wA=", cut: false })).toEqual({ kind: "hex", text: "ff 00", isCut: false });
  });

  test("are shown short", () => {
    expect(beginning("aaaa\nbbbb\ncccc", 11)).toBe("aaaa\nbbbb");
    expect(inOneLine(valueOfBytes(utf8('{"a": 1}')), 5)).toBe('{ "a"…');
    expect([sizeText(12), sizeText(2_048), sizeText(3_565_158)]).toEqual(["12 B", "2.0 KiB", "3.4 MiB"]);
  });
});

describe("failures", () => {
  test("come apart into what and where", () => {
    const text = "[500 Internal] no 'card'\nTypeError: no 'card'\n    at Object.broken (shop.ts:98:13)\n    at run (rpc.ts:1:1)";
    expect(partsOf(text)).toEqual({
      message: "[500 Internal] no 'card'",
      stack: ["    at Object.broken (shop.ts:98:13)", "    at run (rpc.ts:1:1)"],
    });
    expect(partsOf("only words\nin two lines")).toEqual({ message: "only words\nin two lines", stack: [] });
    expect(partsOf('it broke\nTraceback (most recent call last):\n  File "a.py", line 1').stack).toHaveLength(2);
  });

  test("beside the journal are read from their rows", () => {
    const json = {
      error_code: 500,
      error_message: "no",
      error_stacktrace: "Error: no\n    at f (x:1:1)",
      restate_doc_error_code: "RT0007",
    };
    const row = { appended_at: "2026-11-22T01:00:00.123Z", event_type: "TransientError", event_json: JSON.stringify(json) };
    const event = eventOf(row);
    expect(event).toMatchObject({ kind: "failure", code: "RT0007", message: "no", stack: ["    at f (x:1:1)"] });
    expect(eventAt([event!], Date.parse("2026-11-22T01:00:00.123Z"))).toBe(event);
    expect(eventAt([event!], 0)).toBeUndefined();
  });

  test("of an unknown shape are left out instead of breaking the page", () => {
    expect(eventOf({})).toBeUndefined();
    expect(
      eventOf({ appended_at: "2026-11-22T01:00:00Z", event_type: "TransientError", event_json: '{"error_code":"x"}' }),
    ).toBeUndefined();
    expect(eventOf({ appended_at: "2026-11-22T01:00:00Z", event_type: "Paused", event_json: '{"ty":"Paused"}' })).toMatchObject({
      kind: "pause",
    });
  });
});

describe("actions", () => {
  const allowed = (status: string, more = {}) =>
    INVOCATION_VERBS.filter((verb) => whyNot(verb, { status, isWorkflow: false, journalSize: 4, ...more }) === undefined);

  test("are those that the state allows", () => {
    expect(allowed("running")).toEqual(["cancel", "kill", "pause"]);
    expect(allowed("scheduled")).toEqual(["cancel", "kill"]);
    expect(allowed("pending")).toEqual(["cancel", "kill"]);
    expect(allowed("suspended")).toEqual(["cancel", "kill", "resume"]);
    expect(allowed("backing-off")).toEqual(["cancel", "kill", "pause", "resume"]);
    expect(allowed("paused")).toEqual(["cancel", "kill", "resume"]);
    expect(allowed("completed")).toEqual(["purge", "purge-journal", "restart-as-new"]);
  });

  test("of completed ones depend on what is left", () => {
    expect(allowed("completed", { isWorkflow: true })).toEqual(["purge", "purge-journal"]);
    expect(allowed("completed", { journalSize: 0 })).toEqual(["purge"]);
    expect(whyNotMove("backing-off")).toContain("Pause it first");
    expect(whyNotMove("paused")).toBeUndefined();
  });

  test("that explain proposes become something to press", () => {
    const remedy = (request: string) => remedyOf({ request, effect: "helps" });
    expect(remedy("PATCH /invocations/inv_1/resume?deployment=latest")).toMatchObject({
      kind: "verb",
      id: "inv_1",
      verb: "resume",
      deployment: "latest",
    });
    expect(remedy("PATCH /invocations/inv_1/kill")).toMatchObject({ kind: "verb", verb: "kill", deployment: undefined });
    expect(remedy("POST /vqueues/vq_a%2Fb/resume")).toMatchObject({ kind: "queue", queue: "vq_a/b" });
    expect(remedy("POST /restate/awakeables/sign_1/resolve (ingress)")).toMatchObject({ kind: "awakeable", awakeable: "sign_1" });
    expect(remedy("PUT /limits/rules")).toMatchObject({ kind: "page", href: "/flow" });
    expect(remedy("POST /deployments")).toMatchObject({ kind: "page", href: "/deployments" });
    expect(remedy("PATCH /invocations/inv_1/explode")).toMatchObject({ kind: "words" });
  });
});

describe("the row of an invocation", () => {
  test("has the texts of the head", () => {
    const facts = factsOf({
      id: "inv_1",
      target: "Orders/place",
      target_service_ty: "workflow",
      status: "backing-off",
      last_attempt_deployment_id: "dp_1",
      last_failure: "[500 Internal] no\n    at f (x:1:1)",
      last_failure_error_code: "RT0007",
      last_failure_related_command_type: "Run",
      last_failure_related_command_name: "pack it",
      last_failure_related_command_index: 3,
      retry_count: 2,
    });
    expect(facts).toMatchObject({ isWorkflow: true, deploymentId: "dp_1", isPinned: false, attempts: 2 });
    expect(facts.lastFailure).toEqual({
      message: "[500 Internal] no",
      stack: ["    at f (x:1:1)"],
      code: "RT0007",
      step: "Run 'pack it' (command 3)",
    });
  });

  test("writes retentions as ISO durations", () => {
    expect([durationMs("PT86400S"), durationMs("P1DT2H3M4.5S"), durationMs("soon")]).toEqual([86_400_000, 93_784_500, undefined]);
  });
});
