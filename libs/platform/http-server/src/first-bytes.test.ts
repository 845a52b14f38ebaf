import { describe, expect, test } from "@jest/globals";
import { protocolOf, withEncodedTarget } from "./first-bytes.js";

describe("the first bytes of a connection", () => {
  test.each([
    ["", undefined],
    ["P", undefined],
    ["PR", undefined],
    ["PRI", "h2c"],
    ["PRI * HTTP/2.0\r\n", "h2c"],
    ["PO", "http/1.1"],
    ["PROPFIND / HTTP/1.1", "http/1.1"],
    ["GET / HTTP/1.1", "http/1.1"],
    ["\u0000", "http/1.1"],
    ["pri", "http/1.1"],
  ])("%j", (text, protocol) => {
    expect(protocolOf(Buffer.from(text, "latin1"))).toBe(protocol);
  });
});

describe("the target of the first request", () => {
  const encoded = (text: string) => withEncodedTarget(Buffer.from(text)).toString("latin1");

  test("is encoded where it is not ASCII, and all else stays", () => {
    expect(encoded("POST /a/é/b?q=€ HTTP/1.1\r\nx: é\r\n\r\nü")).toBe(
      `POST /a/%C3%A9/b?q=%E2%82%AC HTTP/1.1\r\nx: ${Buffer.from("é").toString("latin1")}\r\n\r\n${Buffer.from("ü").toString("latin1")}`,
    );
    expect(withEncodedTarget(Buffer.from("GET /\xff HTTP/1.0\r\n", "latin1")).toString()).toBe("GET /%FF HTTP/1.0\r\n");
  });

  test.each([
    ["without its end", "GET /é HTTP/1.1\r"],
    ["of no request", "\u0016\u0003é\r\n"],
    ["with a blank in it", "GET /é é HTTP/1.1\r\n"],
    ["of a proxy", "GET http://é/ HTTP/1.1\r\n"],
    ["that is ASCII", "GET /a HTTP/1.1\r\nx: é\r\n"],
  ])("stays in a line %s", (_, text) => {
    const bytes = Buffer.from(text);
    expect(withEncodedTarget(bytes)).toBe(bytes);
  });
});
