import { describe, expect, test } from "@jest/globals";
import { isRedactedUrl, redactUrl, redactUrlParts } from "./redact-url.js";

const SLACK = "https://hooks.slack.example/services/T0AAAAAAA/B0BBBBBBB/x7KdPq9Zl2";

test.each([
  ["https://hooks.example", "https://hooks.example/"],
  ["https://hooks.example/perdure", "https://hooks.example/perdure"],
  ["https://hooks.example/perdure/", "https://hooks.example/perdure/"],
  [SLACK, "https://hooks.slack.example/services/***"],
  ["https://hooks.example:8443/a/b/?x=1", "https://hooks.example:8443/a/***?x=***"],
  ["https://hooks.example/0b7c1d6e-8d0a-4c55-8f3e-0c2a6b1d9e77", "https://hooks.example/***"],
  ["https://hooks.example/in?token=s3cr3t&a=&x7KdPq9Zl2&=nameless", "https://hooks.example/in?token=***&a=&***&=***"],
  ["https://user:pass@hooks.example/in#part", "https://***@hooks.example/in#***"],
  ["no address", "***"],
])("%s is shown as %s", (url, shown) => {
  expect(redactUrl(url)).toBe(shown);
  expect(redactUrl(shown)).toBe(shown);
  expect(isRedactedUrl(url)).toBe(false);
});

test.each([
  "https://hooks.example/services/***",
  "https://hooks.example/in?token=***",
  "https://hooks.example/in?***",
  "https://***@hooks.example/in",
  "***",
])("%s is recognised as redacted", (url) => {
  expect(isRedactedUrl(url)).toBe(true);
});

describe("a quoted response", () => {
  test("does not contain the hidden parts of the address, raw or decoded", () => {
    expect(redactUrlParts("Cannot POST /services/T0AAAAAAA/B0BBBBBBB/x7KdPq9Zl2", SLACK)).toBe(
      "Cannot POST /services/***/***/***",
    );
    const url = "https://hooks.example/in?sig=a%2Fb%2Bc%3D&v=1";
    expect(redactUrlParts("bad sig a/b+c= of /in?sig=a%2Fb%2Bc%3D&v=1", url)).toBe("bad sig *** of /in?sig=***&v=1");
  });

  test("does not end with the beginning of a hidden part", () => {
    const cut = "Cannot POST /services/T0AAAAAAA/B0BBBBBBB/x7KdPq";
    expect(redactUrlParts(cut, SLACK, true)).toBe("Cannot POST /services/***/***/***");
    expect(redactUrlParts("no such page", SLACK, true)).toBe("no such page");
  });
});
