import { describe, expect, test } from "@jest/globals";
import { originOf, parseDestination } from "./destination.js";

describe("destinations in paths", () => {
  test.each([
    ["/http/localhost/9080", { scheme: "http", host: "localhost", port: 9080, target: "/" }],
    ["/http/localhost/9080/", { scheme: "http", host: "localhost", port: 9080, target: "/" }],
    [
      "/https/svc.ns.svc.cluster.local/443/a/b?c=/../d",
      { scheme: "https", host: "svc.ns.svc.cluster.local", port: 443, target: "/a/b?c=/../d" },
    ],
    ["/http/in-process/9080/invoke/S/h", { scheme: "http", host: "in-process", port: 9080, target: "/invoke/S/h" }],
    ["/http/[::1]/80/x", { scheme: "http", host: "[::1]", port: 80, target: "/x" }],
    ["/http/a_b/1?q", { scheme: "http", host: "a_b", port: 1, target: "/?q" }],
    ["/http/h/1/%2fx", { scheme: "http", host: "h", port: 1, target: "/%2fx" }],
    ["/http/h/1//x", { scheme: "http", host: "h", port: 1, target: "//x" }],
  ])("%s is read as it is", (path, expected) => {
    expect(parseDestination(path)).toEqual(expected);
  });

  test.each([
    "",
    "/",
    "/_/drain-tunnel",
    "//_/drain-tunnel",
    "/http",
    "/http/h",
    "/http/h/",
    "/http/h/x",
    "/http/h/0",
    "/http/h/65536",
    "/http/h/123456",
    "/http/h/-1",
    "/HTTP/h/1",
    "/ftp/h/1",
    "/http//1",
    "/http/./1",
    "/http/../1",
    "/http/%2e%2e/1",
    "/http/a%2fb/1",
    "/http/a b/1",
    "/http/a@b/1",
    "/http/a:1/1",
    "/http/h/1/..",
    "/http/h/1/../x",
    "/http/h/1/x/%2E./y",
    "/http/h/1/./y",
    "/http/h/1\\x",
    "/http/h/1/x\\y",
    "/http/h/1/#x",
    "/http/h/1/\u0000",
    `/http/${"a".repeat(254)}/1`,
    "http/h/1",
  ])("%j is refused", (path) => {
    expect(parseDestination(path)).toBeUndefined();
  });

  test("an origin is written with its port", () => {
    expect(originOf({ scheme: "http", host: "h", port: 80 })).toBe("http://h:80");
  });
});
