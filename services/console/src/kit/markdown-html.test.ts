import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { markdownHtml } from "./markdown-html.js";

test("emphasis, code, lists and links of the web become HTML", () => {
  expect(markdownHtml("**Owner:** team-checkout · [runbook](https://example.com/x?a=1&b=2)")).toBe(
    '<p><strong>Owner:</strong> team-checkout · <a href="https://example.com/x?a=1&amp;b=2" rel="noreferrer noopener" target="_blank">runbook</a></p>\n',
  );
  expect(markdownHtml("- `a`\n- b")).toMatch(/<ul>\s*<li><code>a<\/code><\/li>\s*<li>b<\/li>\s*<\/ul>/);
  expect(markdownHtml("# Title")).toBe("<p><strong>Title</strong></p>\n");
});

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "a <b onclick='x'>b</b>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](vbscript:x)",
  "![x](javascript:alert(1))",
  '![" onerror="x](https://e.com/"onerror="x)',
  '[x](https://e.com/"onclick="alert(1))',
  "<javascript:alert(1)>",
  "[x]: javascript:alert(1)\n\n[x]",
  "```\n</code></pre><script>alert(1)</script>\n```",
  "`<script>`",
  "| <script> |\n|---|\n| <img onerror=x> |",
])("%j brings no element or attribute of its own", (text) => expect(elementsOf(markdownHtml(text))).toEqual([]));

test("whatever the text, the output has allowed elements only", () => {
  const parts = fc.array(
    fc.constantFrom(
      "<",
      ">",
      '"',
      "'",
      "[",
      "](",
      ")",
      "`",
      "\n",
      "javascript:",
      "https://a",
      "script",
      " onerror=",
      "*",
      "!",
      "|",
      "&",
    ),
  );
  fc.assert(fc.property(parts, (all) => expect(elementsOf(markdownHtml(all.join("")))).toEqual([])));
});

const ALLOWED_TAG =
  /^<\/?(p|strong|em|del|code|pre|ul|ol|li|br|hr|blockquote|table|thead|tbody|tr)>$|^<(th|td)( align="\w+")?>$|^<\/(th|td|a)>$|^<ol start="\d+">$|^<a href="(https?:|mailto:)[^"<>]*" rel="noreferrer noopener" target="_blank">$/;

/** Tags that are not those of our own renderer. */
function elementsOf(html: string): readonly string[] {
  return [...html.matchAll(/<[^>]*>?/g)].map(([tag]) => tag).filter((tag) => !ALLOWED_TAG.test(tag));
}
