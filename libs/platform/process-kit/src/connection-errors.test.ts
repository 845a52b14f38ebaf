import { describe, expect, test } from "@jest/globals";
import { type Logger, PerdureError, silentLogger } from "@perdure/base";
import { Metrics } from "@perdure/telemetry";
import { VirtualClock } from "@perdure/testkit";
import { ConnectionErrors, connectionErrorKind } from "./connection-errors.js";
import { CONNECTION_ERRORS_LOGGED_MAX, CONNECTION_ERRORS_WINDOW_MS } from "./limits.js";

const error = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more });
const NETWORK = "Error: x\n    at ServerHttp2Stream.write (node:internal/http2/core:2000:1)";
const FILE = "Error: x\n    at WriteStream.write (node:internal/fs/streams:1:1)";

describe("an uncaught exception belongs to one connection", () => {
  test.each([
    ["ERR_HTTP2_ERROR", {}, "http2"],
    ["ERR_HTTP2_INVALID_STREAM", {}, "http2"],
    ["HPE_INVALID_METHOD", {}, "http1"],
    ["ERR_HTTP_HEADERS_SENT", {}, "http1"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", {}, "tls"],
    ["ERR_STREAM_WRITE_AFTER_END", { stack: NETWORK }, "stream"],
    ["ECONNRESET", { syscall: "read" }, "socket"],
    ["EPIPE", { syscall: "write" }, "socket"],
  ])("when its code is %s", (code, more, kind) => {
    expect(connectionErrorKind(error(code, more), "uncaughtException")).toBe(kind);
  });

  test.each([
    ["a broken invariant", new Error("this cannot be")],
    ["an error of ours", new PerdureError("STO0004", "disk full")],
    ["no error at all", "oops"],
    ["a connection that could not be made", error("ECONNREFUSED", { syscall: "connect" })],
    ["a dependency that took too long", error("ETIMEDOUT", { syscall: "connect" })],
    ["a stream that is a file", error("ERR_STREAM_WRITE_AFTER_END", { stack: FILE })],
    ["a wrong argument", error("ERR_INVALID_ARG_TYPE", { stack: NETWORK })],
    ["a full disk", error("ENOSPC", { syscall: "write" })],
  ])("but not when it is %s", (_what, cause) => {
    expect(connectionErrorKind(cause, "uncaughtException")).toBeUndefined();
  });

  test("but a rejected promise with the error of a socket is an unhandled request of the process", () => {
    expect(connectionErrorKind(error("ECONNRESET", { syscall: "read" }), "unhandledRejection")).toBeUndefined();
    expect(connectionErrorKind(error("ERR_HTTP2_INVALID_STREAM"), "unhandledRejection")).toBe("http2");
  });
});

test("such errors are counted, and logged no more often than the bound", () => {
  const clock = new VirtualClock();
  const metrics = new Metrics();
  const lines: { readonly suppressed: number }[] = [];
  const logger: Logger = { ...silentLogger, error: (fields) => void lines.push(fields as { suppressed: number }) };
  const errors = new ConnectionErrors({ clock, logger, metrics });
  const flood = (count: number): void => {
    for (let n = 0; n < count; n++) expect(errors.survives(error("ERR_HTTP2_ERROR"), "uncaughtException")).toBe(true);
  };
  flood(CONNECTION_ERRORS_LOGGED_MAX + 5);
  expect(lines).toHaveLength(CONNECTION_ERRORS_LOGGED_MAX);
  clock.advanceBy(CONNECTION_ERRORS_WINDOW_MS);
  flood(1);
  expect(lines.at(-1)).toMatchObject({ kind: "http2", suppressed: 5 });
  expect(errors.survives(new Error("this cannot be"), "uncaughtException")).toBe(false);
  expect(metrics.text()).toContain(`perdure_uncaught_connection_errors_total ${CONNECTION_ERRORS_LOGGED_MAX + 6}`);
});
