/** Why: a handler's content types become rules for callers and headers of answers, so a malformed one is refused at registration. */

/** A token of RFC 9110 §5.6.2. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const WHOLE_TYPE = /^[!#$%&'+.^_`|~0-9A-Za-z-]+\/\*$/;
const HEADER = new RegExp(`^${TOKEN}/${TOKEN}(?:\\s*;\\s*${TOKEN}=(?:${TOKEN}|"[^"\\x00-\\x1f]*"))*$`);

export const ANY_CONTENT_TYPE = "*/*";

/**
 * Whether a text may stand as an input rule: `type/subtype`, a whole type such as `text/*`, or any type. With parameters it is a
 * rule too, which only the same text fulfils.
 */
export function isContentTypeRule(text: string): boolean {
  if (text.includes("*")) return text === ANY_CONTENT_TYPE || WHOLE_TYPE.test(text);
  return HEADER.test(text);
}

/** Whether a text may stand in a `content-type` header; parameters are fine, and so are ranges, by which services say that it varies. */
export function isContentType(text: string): boolean {
  return HEADER.test(text);
}
