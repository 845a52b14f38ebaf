import { describe, expect, test } from "@jest/globals";
import { discoveryTarget, identityOf } from "./address.js";

const http = (uri: string) => discoveryTarget({ kind: "http", uri, useHttp11: false });
const identity = (uri: string, headers: Record<string, string> = {}, routing: string[] = []) =>
  identityOf(http(uri), headers, routing);
const ARN = "arn:aws:lambda:us-east-1:123456789012:function:foo:1";

describe("normalised addresses", () => {
  test.each([
    ["http://localhost:9080", "http://localhost:9080/"],
    ["HTTP://LocalHost:9080/a/b/?x=1#frag", "http://localhost:9080/a/b/?x=1"],
    ["https://example.com:443/x", "https://example.com/x"],
    ["http://[::1]:9080", "http://[::1]:9080/"],
    ["tunnel://My-Tunnel:9080", "tunnel://My-Tunnel:9080/"],
    ["tunnel://t:9080/base", "tunnel://t:9080/base"],
  ])("%s becomes %s", (given, expected) => {
    expect(http(given)).toMatchObject({ uri: expected });
  });

  test.each(["localhost:9080", "/x", "localhost", "http:/x", "http://", "http:///x", "mailto:a@b"])(
    "%s is not absolute",
    (uri) => {
      expect(() => http(uri)).toThrow(/'uri' is invalid.*not absolute/);
    },
  );

  test.each([
    ["ftp://localhost", "scheme"],
    ["http://user:secret@localhost", "credentials"],
    ["http://a b", "parsed"],
    ["http://x:99999", "parsed"],
    ["tunnel://t", "tunnel"],
    ["tunnel://-t:80", "tunnel"],
  ])("%s is refused because of its %s", (uri, why) => {
    expect(() => http(uri)).toThrow(new RegExp(`'uri' is invalid.*${why}`));
  });

  test("the HTTP version follows the request", () => {
    expect(discoveryTarget({ kind: "http", uri: "https://a", useHttp11: true })).toMatchObject({ httpVersion: "HTTP/1.1" });
    expect(discoveryTarget({ kind: "http", uri: "https://a", useHttp11: false })).toMatchObject({ httpVersion: "auto" });
  });
});

describe("functions", () => {
  const lambda = (arn: string) => discoveryTarget({ kind: "lambda", arn, assumeRoleArn: undefined });

  test("a qualified ARN stays as it is", () => {
    expect(lambda(ARN)).toEqual({ kind: "lambda", arn: ARN, assumeRoleArn: undefined });
  });

  test.each([
    [ARN.slice(0, -2), "version or alias"],
    ["nope", "8 components"],
    [`${ARN}:x`, "8 components"],
    [ARN.replace("lambda", "s3"), "looks like"],
    [ARN.replace("us-east-1", ""), "empty"],
  ])("%s is refused: %s", (arn, why) => {
    expect(() => lambda(arn)).toThrow(new RegExp(`'arn' is invalid.*${why}`));
  });
});

describe("identity", () => {
  test("scheme, query and a trailing slash do not matter, authority and path do", () => {
    expect(identity("http://a:1/x")).toBe(identity("https://A:1/x/?q=1"));
    expect(identity("http://a:1/x")).not.toBe(identity("http://a:1/y"));
    expect(identity("http://a:1/x")).not.toBe(identity("http://a:1/X"));
    expect(identity("http://a:1")).not.toBe(identity("http://a:2"));
    expect(identity("http://a:1")).not.toBe(identity("tunnel://a:1"));
  });

  test("configured routing headers are part of it, others are not", () => {
    expect(identity("http://a", { "x-route": "1", "x-other": "1" }, ["X-Route"])).not.toBe(
      identity("http://a", { "x-route": "2" }, ["X-Route"]),
    );
    expect(identity("http://a", { "x-route": "1", "x-other": "1" }, ["X-Route"])).toBe(
      identity("http://a", { "x-route": "1" }, ["X-Route"]),
    );
    expect(identity("http://a", { "x-route": "null" }, ["x-route"])).not.toBe(identity("http://a", {}, ["x-route"]));
  });
});
