/**
 * Cookies of the console, recognised by a common prefix of their names. Browsers send cookies to all ports of a host, and on one machine
 * (cloud.md §1.8) the console and all environments share a host. So what forwards a request removes the console's cookies: otherwise a
 * session would reach handlers and stay in their journals.
 */

/** Prefix of all cookie names; `__Host-` precedes it where the console is reached over TLS. */
export const COOKIE_PREFIX = "perdure_";

const OURS = new RegExp(`^(?:__Host-)?${COOKIE_PREFIX}`, "i");

/** A `cookie` header without the console's cookies; undefined when no cookie is left. */
export function foreignCookies(header: string): string | undefined {
  const pairs = header.split(";").map((pair) => pair.trim());
  const foreign = pairs.filter((pair) => pair !== "" && !OURS.test(pair));
  if (foreign.length === pairs.length) return header;
  return foreign.length === 0 ? undefined : foreign.join("; ");
}
