/** Rules for host names: well-formed, and not names that are internal by convention. */
import { HOST_CHARS_MAX, LABEL_CHARS_MAX } from "./limits.js";

const INSIDE = ["localhost", "internal", "local", "svc", "localdomain", "home.arpa"] as const;

/** `host`: in lower case, as WHATWG URLs have it. Undefined when it is a well-formed name or address, else the problem. */
export function hostProblem(host: string): string | undefined {
  if (host.length === 0 || host.length > HOST_CHARS_MAX) return "no host name";
  const isWellFormed = host.split(".").every((label) => label.length <= LABEL_CHARS_MAX && /^[a-z0-9_-]+$/.test(label));
  return isWellFormed ? undefined : "no host name";
}

/** The name without its trailing dot. */
export function withoutRoot(host: string): string {
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

export function isSameOrBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

/** The reason why a name without trailing dot cannot be a public one; undefined when it can. */
export function insideReason(host: string): string | undefined {
  const problem = hostProblem(host);
  if (problem !== undefined) return problem;
  const inside = INSIDE.find((domain) => isSameOrBelow(host, domain));
  if (inside !== undefined) return `names below ${inside} lead inside`;
  return host.includes(".") ? undefined : "a name of one label leads inside";
}
