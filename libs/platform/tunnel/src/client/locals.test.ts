import { expect, test } from "@jest/globals";
import { parseDestination } from "../destination.js";
import { Locals } from "./locals.js";

const isServed = (allow: readonly string[], path: string): boolean => {
  const destination = parseDestination(path);
  if (destination === undefined) throw new Error(path);
  return new Locals([], allow).find(destination) !== undefined;
};

test("a named destination is served with its scheme and port, and no other", () => {
  const allow = ["http://shop.lan:9080"];
  expect(isServed(allow, "/http/shop.lan/9080/discover")).toBe(true);
  expect(isServed(allow, "/http/SHOP.lan/9080/discover")).toBe(true);
  for (const other of ["/http/shop.lan/9081/discover", "/https/shop.lan/9080/discover", "/http/other.lan/9080/discover"]) {
    expect(isServed(allow, other)).toBe(false);
  }
});

test("an allowed domain matches every name below it, on one port", () => {
  const allow = ["http://*.svc.cluster.local:9080"];
  expect(isServed(allow, "/http/shop-1a2b.team.svc.cluster.local/9080/discover")).toBe(true);
  for (const other of [
    "/http/svc.cluster.local/9080/discover",
    "/http/shop.svc.cluster.local.evil.org/9080/discover",
    "/http/shopsvc.cluster.local/9080/discover",
    "/http/shop.team.svc.cluster.local/443/discover",
    "/https/shop.team.svc.cluster.local/9080/discover",
    "/http/169.254.169.254/9080/discover",
  ]) {
    expect(isServed(allow, other)).toBe(false);
  }
});

test.each(["http://*", "http://*.local:9080", "http://*:9080", "http://a*.svc.local:80", "ftp://*.svc.local", "shop"])(
  "'%s' cannot be allowed",
  (allow) => {
    expect(() => new Locals([], [allow])).toThrow("cannot be allowed");
  },
);
