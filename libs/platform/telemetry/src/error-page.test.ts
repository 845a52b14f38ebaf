import { expect, test } from "@jest/globals";
import { errorPageUrl } from "./error-page.js";
import { VERSION } from "./version.js";

test("the page of an error code is that of this version, or below the address that was set", () => {
  expect(errorPageUrl("META0003", undefined)).toBe(`https://perdure.dev/docs/v${VERSION}/errors/META0003`);
  expect(errorPageUrl("META0003", "")).toBe(errorPageUrl("META0003", undefined));
  expect(errorPageUrl("RT0004", "https://docs.acme.example/perdure/")).toBe("https://docs.acme.example/perdure/errors/RT0004");
});
