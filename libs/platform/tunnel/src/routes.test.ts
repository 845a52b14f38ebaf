import { describe, expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import type { BareEnvironmentId } from "@perdure/cloud";
import type { EndpointStream, EndpointTransport, StreamRequest, TransportFailure } from "@perdure/endpoint-transport";
import { parseProxyPath, parseTunnelUri, proxyPath } from "./address.js";
import { HTTP_VERSION_HEADER, RUNTIME_TOKEN_HEADER } from "./handshake.js";
import { type TunnelAccess, TunnelRoutes } from "./routes.js";
import { createTunnelTransport } from "./transport.js";

const BARE = "201k0yd4rz8yftmd4awh1bajg4v" as BareEnvironmentId;
const OTHER = "201k0yd4rz8yftmd4awh1bajg4w";
const PUBLIC = "https://tunnel.us.perdure.test:9080";
const access: TunnelAccess = {
  bare: BARE,
  proxyUrl: "http://10.0.0.1:9080",
  publicUrl: PUBLIC,
  token: new Secret("rt_1"),
};

describe("addresses", () => {
  test.each([
    ["tunnel://t:9080", { name: "t", scheme: "http", host: "localhost", port: 9080, path: "/" }],
    ["TUNNEL://T_1.a-b:1/a/b", { name: "T_1.a-b", scheme: "http", host: "localhost", port: 1, path: "/a/b" }],
    ["tunnel+https://t:443/", { name: "t", scheme: "https", host: "localhost", port: 443, path: "/" }],
  ])("%s is a place behind a tunnel", (uri, expected) => {
    expect(parseTunnelUri(uri)).toEqual(expected);
  });

  test.each([
    "tunnel://t",
    "tunnel://t:0",
    "tunnel://t:65536",
    "tunnel://_t:1",
    "tunnel://u@t:1",
    "tunnel://t:1?q",
    "tunnel://t:1/#f",
    "tunnel:t:1",
    "http://t:1",
    `tunnel://${"a".repeat(64)}:1`,
    "tunnel://t:1/../x",
  ])("%s is none", (uri) => {
    expect(parseTunnelUri(uri)).toBeUndefined();
  });

  test("the path at the proxy is parsed as it was written", () => {
    const address = { name: "t", scheme: "https", host: "h", port: 1, path: "/a" } as const;
    const path = proxyPath(BARE, address);
    expect(path).toBe(`/${BARE}/t/https/h/1/a`);
    expect(parseProxyPath(path)).toEqual({ bare: BARE, name: "t", rest: "/https/h/1/a" });
  });

  test.each(["/", `/${BARE}`, `/${BARE}/t`, `/${BARE}/_t/x`, `/${BARE}//x`, `/x/t/http/h/1`, `/${BARE}/a%2fb/x`])(
    "%s names no tunnel",
    (path) => {
      expect(parseProxyPath(path)).toBeUndefined();
    },
  );
});

describe("the route of an address", () => {
  const routes = new TunnelRoutes(access);

  test.each([
    ["http://example.com/", "none"],
    ["https://tunnel.us.perdure.test/", "none"],
    ["tunnel://t:9080", "own"],
    [`${PUBLIC}/${BARE}/t/http/localhost/9080/`, "own"],
    [`http://10.0.0.1:9080/${BARE}/t/http/in-process/9080/`, "own"],
    [`${PUBLIC}/${OTHER}/t/http/localhost/9080/`, "foreign"],
    [`${PUBLIC}/${BARE}/t/_/drain-tunnel`, "foreign"],
    [`${PUBLIC}/_/held/${BARE}/t`, "foreign"],
    [`${PUBLIC}/`, "foreign"],
    ["tunnel://t", "malformed"],
  ])("%s is %s", (uri, kind) => {
    expect(routes.routeOf(uri).kind).toBe(kind);
  });

  test("without tunnels an address of a tunnel is distinguished from others", () => {
    const none = new TunnelRoutes(undefined);
    expect(none.routeOf("tunnel://t:1").kind).toBe("unavailable");
    expect(none.routeOf(`${PUBLIC}/${BARE}/t/http/localhost/1/`).kind).toBe("none");
    expect(none.placeOf("tunnel://t:1/a/")).toBe(none.placeOf("tunnel://t:1/a"));
  });
});

describe("the transport", () => {
  /** Records the requests that it gets. */
  function recorder() {
    const requests: StreamRequest[] = [];
    const transport: EndpointTransport = {
      open(request): EndpointStream {
        requests.push(request);
        return { write: () => true, end() {}, abort() {}, pauseReading() {}, resumeReading() {} };
      },
      async [Symbol.asyncDispose]() {},
    };
    return { requests, transport };
  }

  function send(
    uri: string,
    { httpVersion = "HTTP/2.0", headers = {} }: { httpVersion?: "HTTP/1.1" | "HTTP/2.0"; headers?: Record<string, string> } = {},
  ) {
    const plain = recorder();
    const toProxy = recorder();
    const failures: TransportFailure[] = [];
    const transport = createTunnelTransport({ plain: plain.transport, toProxy: toProxy.transport }, access);
    const request: StreamRequest = {
      address: { kind: "http", uri, httpVersion },
      method: "POST",
      path: "/invoke/S/h",
      headers: { "x-a": "b", ...headers },
      requestResponse: false,
      isLarge: true,
    };
    transport.open(request, { response() {}, data() {}, end() {}, drain() {}, failed: (failure) => failures.push(failure) });
    return { plain: plain.requests, toProxy: toProxy.requests, failures };
  }

  test.each(["tunnel://t:9080/base", `${PUBLIC}/${BARE}/t/http/localhost/9080/base`])(
    "takes %s to the proxy, with the token",
    (uri) => {
      const { plain, toProxy } = send(uri);
      expect(plain).toEqual([]);
      expect(toProxy).toEqual([
        {
          address: { kind: "http", uri: `http://10.0.0.1:9080/${BARE}/t/http/localhost/9080/base`, httpVersion: "HTTP/2.0" },
          method: "POST",
          path: "/invoke/S/h",
          headers: { "x-a": "b", [RUNTIME_TOKEN_HEADER]: "rt_1" },
          requestResponse: false,
          isLarge: true,
        },
      ]);
    },
  );

  test("sends the header for services that speak HTTP/1.1", () => {
    const { toProxy } = send("tunnel://t:9080", { httpVersion: "HTTP/1.1" });
    expect(toProxy[0]).toMatchObject({ address: { httpVersion: "HTTP/2.0" }, headers: { [HTTP_VERSION_HEADER]: "HTTP/1.1" } });
  });

  test("sends no token to other destinations, also when a deployment's own headers have one", () => {
    const { plain, toProxy } = send("https://example.com/", { headers: { [RUNTIME_TOKEN_HEADER]: "mine" } });
    expect(toProxy).toEqual([]);
    expect(plain[0]?.headers).toEqual({ "x-a": "b" });
    expect(send("tunnel://t:1", { headers: { [RUNTIME_TOKEN_HEADER]: "mine" } }).toProxy[0]?.headers[RUNTIME_TOKEN_HEADER]).toBe(
      "rt_1",
    );
  });

  test("T7: does not reach the tunnel of another environment", async () => {
    const { plain, toProxy, failures } = send(`${PUBLIC}/${OTHER}/t/http/localhost/9080/`);
    await Promise.resolve();
    expect([plain, toProxy]).toEqual([[], []]);
    expect(failures).toEqual([{ kind: "denied", message: "tunnel belongs to another environment" }]);
  });
});
