import { expect, test } from "@jest/globals";
import { type Logger, PerdureError, SummaryLog, silentLogger } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { logFailure } from "./failures.js";

test("an outage is a few lines without stacks and a count, a hung-up client logs nothing, any other failure one line with its stack", () => {
  const lines: { level: string; fields: object; message: string }[] = [];
  const record = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  const logger: Logger = { ...silentLogger, warn: record("warn"), error: record("error"), info: record("info") };
  const failures = new SummaryLog(logger, new VirtualClock());
  const ports = { logger, failures };
  const away = new PerdureError("STO0001", "the database does not answer");
  for (let i = 0; i < 50; i++) logFailure(ports, away, { path: "/x" }, "a request failed");
  expect(lines).toHaveLength(20);
  expect(lines[0]).toEqual({
    level: "warn",
    fields: { service: "tenancy", code: "STO0001", reason: "the database does not answer", path: "/x" },
    message: "a request failed",
  });
  failures[Symbol.dispose]();
  expect(lines.splice(0).at(-1)?.message).toBe("many lines of one kind");
  logFailure(ports, Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" }), {}, "a request failed");
  expect(lines).toEqual([]);
  const bug = new TypeError("x is undefined");
  logFailure(ports, bug, { path: "/x" }, "a request failed");
  expect(lines).toEqual([{ level: "error", fields: { error: bug, path: "/x" }, message: "a request failed" }]);
});
