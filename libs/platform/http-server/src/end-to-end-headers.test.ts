import { expect, test } from "@jest/globals";
import { connectionOf, endToEndHeaders, namedByConnection } from "./end-to-end-headers.js";

test("headers of one connection are not forwarded, nor those that it names, in any case", () => {
  const raw = [":path", "/x", "Connection", "close, X-Own", "connection", "X-Two", "x-own", "1", "X-Two", "2", "TE", "trailers"];
  expect(endToEndHeaders([...raw, "X-Passed", "yes", "Host", "a"], new Set(["host"]))).toEqual(["x-passed", "yes"]);
  expect(connectionOf(raw)).toBe("close, X-Own,X-Two");
});

test("a connection that is only kept or closed names no header", () => {
  expect([...namedByConnection("Keep-Alive"), ...namedByConnection("close"), ...namedByConnection(undefined)]).toEqual([]);
  expect([...namedByConnection("close, Foo")]).toEqual(["close", "foo"]);
});
