/**
 * Why: browsers send cookies to all ports of a host. On one machine (cloud.md §1.8) those are the console's and all environments', so a
 * session of the console's would come to handlers and stay in their journals; whoever passes cookies on knows ours by their names.
 */

/** All names begin so, behind `__Host-` where the console is reached over TLS. */
export const COOKIE_PREFIX = "perdure_";

const OURS = new RegExp(`^(?:__Host-)?${COOKIE_PREFIX}`, "i");

/** A `cookie` header without what is ours; undefined when nothing is left. */
export function foreignCookies(header: string): string | undefined {
  const pairs = header.split(";").map((pair) => pair.trim());
  const foreign = pairs.filter((pair) => pair !== "" && !OURS.test(pair));
  if (foreign.length === pairs.length) return header;
  return foreign.length === 0 ? undefined : foreign.join("; ");
}
