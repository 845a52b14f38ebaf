/** Short forms of ids. Pure. */

const WHOLE_CHARS_MAX = 22;

/**
 * Enough of an id to distinguish it from others; its middle is not needed. Awakeables have their number at the end, which is mostly the
 * same.
 */
export function shortId(id: string): string {
  if (id.length <= WHOLE_CHARS_MAX) return id;
  return id.startsWith("sign_") ? `${id.slice(0, 8)}…${id.slice(-14)}` : `${id.slice(0, 12)}…${id.slice(-6)}`;
}

/** Characters after which a long name may continue on the next line. Browsers break after `-` only. */
const PART_END = /(?<=[/._:@-])(?=[\p{L}\p{N}])/u;

/** `Orders/my-key/place` → `Orders/`, `my-`, `key/`, `place`. */
export function partsOf(name: string): readonly string[] {
  return name.split(PART_END);
}
