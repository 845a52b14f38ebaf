import { describe, expect, test } from "@jest/globals";
import { PerdureError, Secret } from "@perdure/base";
import { createLogging, type LoggingOptions } from "./logging.js";
import { MASKED_FIELDS } from "./masked-fields.js";

function aLog(options: Partial<LoggingOptions> = {}) {
  const lines: string[] = [];
  const logging = createLogging({
    filter: "info",
    format: "json",
    colors: false,
    service: "standalone",
    sink: (line) => lines.push(line),
    ...options,
  });
  return { ...logging, lines, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe("JSON lines", () => {
  test("a line has time, level, service, fields and the sentence, and ends in a newline", () => {
    const { logger, lines, parsed } = aLog();
    logger.warn({ invocationId: "inv_1", attempt: 3 }, "attempt failed; retrying");
    expect(lines[0]!.endsWith("}\n")).toBe(true);
    const [line] = parsed();
    expect(line).toEqual({
      ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: "warn",
      service: "standalone",
      invocationId: "inv_1",
      attempt: 3,
      msg: "attempt failed; retrying",
    });
  });

  test("waits are whole milliseconds", () => {
    const { logger, parsed } = aLog();
    logger.warn({ pauseMs: 18_419.469302271493, delayMs: 3, durationMs: 0.25 }, "trying again");
    expect(parsed()[0]).toMatchObject({ pauseMs: 18_419, delayMs: 3, durationMs: 0.25 });
  });

  test("has the environment of the process, and the span it was written for", () => {
    const ids = { trace_id: "a", span_id: "b" };
    let current: object | undefined = ids;
    const { logger, parsed } = aLog({ environment: "env_1", traceIds: () => current });
    logger.info({}, "in a span");
    current = undefined;
    logger.info({}, "in none");
    expect(parsed()[0]).toMatchObject({ env: "env_1", ...ids });
    expect(parsed()[1]).not.toHaveProperty("trace_id");
  });

  test("fields of a child are on each of its lines", () => {
    const { logger, parsed } = aLog();
    logger.child({ component: "invoker", partition: 3 }).child({ epoch: 7 }).info({}, "leading");
    expect(parsed()[0]).toMatchObject({ component: "invoker", partition: 3, epoch: 7 });
  });

  test("errors are shown with type, code, stack and causes", () => {
    const { logger, parsed } = aLog();
    const cause = new RangeError("deeper");
    logger.error({ error: new PerdureError("STO0001", "no space", { cause }) }, "commit failed");
    expect(parsed()[0]!["error"]).toEqual({
      type: "PerdureError",
      message: "[STO0001] no space",
      code: "STO0001",
      stack: expect.stringContaining("logging.test"),
      cause: { type: "RangeError", message: "deeper", stack: expect.any(String) },
    });
  });

  test.each(MASKED_FIELDS)("the field %s never shows its value, at the top or one level down", (field) => {
    const { logger, lines } = aLog();
    logger.info({ [field]: "hunter2", request: { [field]: "hunter2" } }, "seen");
    expect(lines[0]).not.toContain("hunter2");
    expect(JSON.parse(lines[0]!)).toMatchObject({ [field]: "***", request: { [field]: "***" } });
  });

  test("a Secret shows as stars wherever it is, and a bigint does not break the line", () => {
    const { logger, lines } = aLog();
    logger.info({ deep: { er: { value: new Secret("hunter2") } }, seed: 2n ** 63n }, "seen");
    expect(lines[0]).not.toContain("hunter2");
    expect(JSON.parse(lines[0]!)).toMatchObject({ deep: { er: { value: "***" } } });
  });
});

describe("levels", () => {
  test("what is below the level is not written", () => {
    const { logger, parsed } = aLog({ filter: "warn" });
    logger.debug({}, "a");
    logger.info({}, "b");
    logger.warn({}, "c");
    logger.error({}, "d");
    expect(parsed().map((line) => line["msg"])).toEqual(["c", "d"]);
  });

  test("a component can have a level of its own, which its children keep", () => {
    const { logger, parsed } = aLog({ filter: "error, invoker=debug" });
    logger.child({ component: "invoker" }).child({ partition: 1 }).debug({}, "shown");
    logger.child({ component: "ingress" }).warn({}, "hidden");
    expect(parsed().map((line) => line["msg"])).toEqual(["shown"]);
  });

  test("a new filter reaches loggers made before it", () => {
    const { logger, setFilter, parsed } = aLog({ filter: "off" });
    const child = logger.child({ component: "invoker" });
    child.error({}, "hidden");
    setFilter("off,invoker=info");
    child.info({}, "shown");
    logger.error({}, "hidden");
    expect(parsed().map((line) => line["msg"])).toEqual(["shown"]);
  });

  test("a filter that cannot be parsed is refused", () => {
    expect(() => aLog({ filter: "chatty" })).toThrow(/RT0002.*'chatty' is not one of debug, info, warn, error, off/);
    expect(() => aLog({ filter: "info,invoker=loud" })).toThrow(/'loud' is not one of/);
  });
});

describe("at a terminal", () => {
  test("one line: time, level, component, sentence, then the fields", () => {
    const { logger, lines } = aLog({ format: "pretty" });
    logger.child({ component: "invoker" }).warn({ invocationId: "inv_1x", reason: "two words", count: 2 }, "attempt failed");
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} warn {2}invoker {4}attempt failed invocationId=inv_1x reason="two words" count=2\n$/,
    );
  });

  test("an error's stack and its cause's stack follow, indented", () => {
    const { logger, lines } = aLog({ format: "pretty" });
    logger.error({ error: new Error("above", { cause: new Error("below") }) }, "failed");
    expect(lines[0]).toMatch(/failed error="above"\n {4}Error: above\n {8}at .*\n(.*\n)* {4}caused by Error: below\n/);
  });

  test("what others wrote begins no line of the log and moves no cursor", () => {
    const { logger, lines } = aLog({ format: "pretty" });
    const hostile = "no\r12:00:00.000 error forged\n12:00:00.000 error forged\u2028error\x1b[2J\x9b2J";
    logger.error({ reason: hostile, error: new Error(hostile) }, "failed");
    const [head = "", ...below] = lines[0]!.trimEnd().split("\n");
    expect(head).toMatch(/ failed reason="no\\r12:.*\\u2028error\\u001b\[2J\\u009b2J" error="no\\r12:/);
    expect(below.length).toBeGreaterThan(1);
    for (const line of below) expect(line).toMatch(/^ {4}/);
    expect(lines[0]).not.toMatch(/[\r\x1b\x9b]/);
  });

  test("colours only on request", () => {
    const plain = aLog({ format: "pretty" });
    const colored = aLog({ format: "pretty", colors: true });
    for (const log of [plain, colored]) log.logger.info({}, "hello");
    expect(plain.lines[0]).not.toContain("\u001b[");
    expect(colored.lines[0]).toContain("\u001b[32minfo ");
  });
});
