import { describe, expect, test } from "@jest/globals";
import type { BareEnvironmentId } from "@perdure/cloud";
import { TunnelRoutes } from "@perdure/tunnel";
import { discoveryTarget, identityOf } from "./address.js";

const BARE = "201k0yd4rz8yftmd4awh1bajg4v" as BareEnvironmentId;
const PROXY = "https://tunnel.us.perdure.test:9080";
const tunnels = new TunnelRoutes({ bare: BARE, proxyUrl: "http://relay.internal:9080", publicUrl: PROXY });
const http = (uri: string) => discoveryTarget({ kind: "http", uri, useHttp11: false });
const identity = (uri: string, headers: Record<string, string> = {}, routing: string[] = []) =>
  identityOf(http(uri), headers, { routingHeaders: routing, tunnels });
const ARN = "arn:aws:lambda:us-east-1:123456789012:function:foo:1";

describe("normalised addresses", () => {
  test.each([
    ["http://localhost:9080", "http://localhost:9080/"],
    ["HTTP://LocalHost:9080/a/b/?x=1#frag", "http://localhost:9080/a/b/?x=1"],
    ["https://example.com:443/x", "https://example.com/x"],
    ["http://[::1]:9080", "http://[::1]:9080/"],
    ["tunnel://My-Tunnel:9080", "tunnel://My-Tunnel:9080/"],
    ["tunnel://t:9080/base", "tunnel://t:9080/base"],
    ["TUNNEL+HTTPS://T:443", "tunnel+https://T:443/"],
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
    ["tunnel://t:0", "tunnel"],
    ["tunnel://t:9080?q", "tunnel"],
    ["tunnel://u@t:9080", "tunnel"],
    ["tunnel://t:9080/a/../b", "tunnel"],
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

  test("an address behind a tunnel is the same in its short and its long form", () => {
    expect(identity("tunnel://t:9080")).toBe(identity(`${PROXY}/${BARE}/t/http/localhost/9080/`));
    expect(identity("tunnel://t:9080/base/")).toBe(identity(`http://relay.internal:9080/${BARE}/t/http/localhost/9080/base`));
    expect(identity("tunnel+https://t:443")).toBe(identity(`${PROXY}/${BARE}/t/https/localhost/443`));
    expect(identity("tunnel://t:9080")).not.toBe(identity("tunnel://T:9080"));
    expect(identity("tunnel://t:9080")).not.toBe(identity("tunnel+https://t:9080"));
    expect(identity("tunnel://t:9080")).not.toBe(identity(`${PROXY}/${BARE}/t/http/in-process/9080/`));
    expect(identity("tunnel://t:9080")).not.toBe(identity(`${PROXY}/${BARE}/u/http/localhost/9080/`));
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
