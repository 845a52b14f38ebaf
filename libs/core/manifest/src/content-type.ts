/** Validates content types of handlers at registration, because they become rules for callers and headers of responses. */

/** A token of RFC 9110 §5.6.2. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const WHOLE_TYPE = /^[!#$%&'+.^_`|~0-9A-Za-z-]+\/\*$/;
const HEADER = new RegExp(`^${TOKEN}/${TOKEN}(?:\\s*;\\s*${TOKEN}=(?:${TOKEN}|"[^"\\x00-\\x1f]*"))*$`);

export const ANY_CONTENT_TYPE = "*/*";

/**
 * Whether a text is a valid input rule: `type/subtype`, a whole type such as `text/*`, or any type. A rule with parameters matches only
 * the identical text.
 */
export function isContentTypeRule(text: string): boolean {
  if (text.includes("*")) return text === ANY_CONTENT_TYPE || WHOLE_TYPE.test(text);
  return HEADER.test(text);
}

/** Whether a text may be a `content-type` header; parameters are allowed, and so are ranges, by which services declare that it varies. */
export function isContentType(text: string): boolean {
  return HEADER.test(text);
}
