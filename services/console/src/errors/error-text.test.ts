import { expect, test } from "@jest/globals";
import { errorLink } from "./error-text.js";

test.each([
  ["META0101.md", { kind: "page", code: "META0101" }],
  ["./RT0016.md#why", { kind: "page", code: "RT0016" }],
  ["https://docs.restate.dev", { kind: "web", href: "https://docs.restate.dev" }],
  ["../operating/egress.md", { kind: "words" }],
  ["README.md", { kind: "words" }],
  ["javascript:alert(1)", { kind: "words" }],
])("%s", (href, link) => {
  expect(errorLink(href)).toEqual(link);
});
