/** Why: a handler's content types become rules for callers and headers of answers, so a malformed one is refused at registration. */

/** A token of RFC 9110 §5.6.2. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const CONCRETE = new RegExp(`^${TOKEN}/${TOKEN}$`);
const HEADER = new RegExp(`^${TOKEN}/${TOKEN}(?:\\s*;\\s*${TOKEN}=(?:${TOKEN}|"[^"\\x00-\\x1f]*"))*$`);

export const ANY_CONTENT_TYPE = "*/*";

/** Whether a text may stand as an input rule: `type/subtype`, a whole type such as `text/*`, or any type. No parameters. */
export function isContentTypeRule(text: string): boolean {
  if (text === ANY_CONTENT_TYPE) return true;
  if (!CONCRETE.test(text) || text.startsWith("*")) return false;
  return text.endsWith("/*") || !text.includes("*");
}

/** Whether a text may stand in a `content-type` header; parameters are fine. */
export function isContentType(text: string): boolean {
  return HEADER.test(text) && !text.includes("*");
}
