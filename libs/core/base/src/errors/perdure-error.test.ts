import { expect, test } from "@jest/globals";
import { PerdureError } from "../index.js";

test("its message begins with the code, and the statuses are those of the catalogue", () => {
  const cause = new Error("ECONNREFUSED");
  const error = new PerdureError("META0003", "no answer from http://localhost:9080/", { cause });
  expect(error).toMatchObject({
    name: "PerdureError",
    message: "[META0003] no answer from http://localhost:9080/",
    code: "META0003",
    detail: "no answer from http://localhost:9080/",
    http: 500,
    grpc: "UNAVAILABLE",
  });
  expect(error.cause).toBe(cause);
});

test("a PerdureError stays; any other becomes an internal error without its text", () => {
  const ours = new PerdureError("RT0004", "port 8080 is taken");
  expect(PerdureError.from(ours)).toBe(ours);
  for (const foreignError of [new Error("password is hunter2"), "hunter2", undefined, { code: "RT0004" }]) {
    const error = PerdureError.from(foreignError);
    expect([error.code, error.message, error.cause]).toEqual(["OPS0003", "[OPS0003] internal error", foreignError]);
  }
});
