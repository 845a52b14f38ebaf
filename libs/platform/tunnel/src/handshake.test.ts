import { describe, expect, test } from "@jest/globals";
import { helloHeaders, parseHello, parseWelcome, type TunnelHello, welcomeTrailers } from "./handshake.js";

const hello: TunnelHello = {
  credential: "key_1",
  environmentId: "env_1",
  name: "t",
  supportsDrain: true,
  supportsClientDrain: true,
  workerId: "w",
  connectionId: "c",
  client: "perdure/1",
  ports: [9080, 1],
};

describe("the hello of a client", () => {
  test("is parsed as it was sent", () => {
    expect(parseHello(helloHeaders(hello))).toEqual(hello);
    const little: TunnelHello = {
      ...hello,
      name: undefined,
      supportsDrain: false,
      supportsClientDrain: false,
      workerId: undefined,
      connectionId: undefined,
      client: undefined,
      ports: undefined,
    };
    expect(parseHello(helloHeaders(little))).toEqual(little);
    expect(Object.keys(helloHeaders(little))).toEqual(["authorization", "environment-id"]);
  });

  test.each([
    {},
    { "environment-id": "env_1" },
    { authorization: "Bearer x" },
    { authorization: "x", "environment-id": "env_1" },
    { authorization: "Bearer a b", "environment-id": "env_1" },
    { authorization: `Bearer ${"x".repeat(5_000)}`, "environment-id": "env_1" },
  ])("%j is nothing", (headers) => {
    expect(parseHello(headers)).toBeUndefined();
  });

  test.each(["x", "1,", "1,x", "1,,2", Array.from({ length: 65 }, () => "1").join(",")])("ports %j are none", (ports) => {
    expect(parseHello({ ...helloHeaders(hello), "tunnel-ports": ports })?.ports).toBeUndefined();
  });

  test("a text that is too long to be shown is left out, but a long name is kept and refused later", () => {
    const long = "x".repeat(200);
    expect(parseHello({ ...helloHeaders(hello), "tunnel-worker-id": long, "tunnel-name": long })).toMatchObject({
      workerId: undefined,
      name: long,
    });
  });
});

describe("the welcome of a relay", () => {
  test("is parsed as it was sent", () => {
    const ok = { status: "ok", name: "t", proxyUrl: "p", tunnelUrl: "u" } as const;
    expect(parseWelcome(welcomeTrailers(ok))).toEqual(ok);
    expect(parseWelcome(welcomeTrailers({ status: "unauthorized" }))).toEqual({ status: "unauthorized" });
  });

  test.each([{}, { "tunnel-status": "fine" }, { "tunnel-status": "ok", "tunnel-name": "t" }])("%j is nothing", (trailers) => {
    expect(parseWelcome(trailers)).toBeUndefined();
  });
});
